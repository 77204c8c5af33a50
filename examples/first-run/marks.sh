# Prints {"count": N, "first": [up to three places]} of what comments of source files leave for later.
find . \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f \( \
  -name '*.rs' -o -name '*.py' -o -name '*.js' -o -name '*.ts' -o -name '*.tsx' -o -name '*.go' -o -name '*.java' -o \
  -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cpp' -o -name '*.cs' -o -name '*.rb' -o -name '*.php' -o \
  -name '*.swift' -o -name '*.kt' -o -name '*.sh' \) -exec grep -nE '(//|#|\*|--).*(TO[D]O|FIX[M]E)' /dev/null {} + |
  awk -F: '
    { count++; if (count <= 3) { gsub(/["\\]/, "", $1); first = first comma "\"" substr($1, 3) ":" $2 "\""; comma = ", " } }
    END { printf "{\"count\": %d, \"first\": [%s]}\n", count, first }'
