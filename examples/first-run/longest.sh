# Prints "LINES PATH" of the five longest source files.
find . \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f \( \
  -name '*.rs' -o -name '*.py' -o -name '*.js' -o -name '*.ts' -o -name '*.tsx' -o -name '*.go' -o -name '*.java' -o \
  -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cpp' -o -name '*.cs' -o -name '*.rb' -o -name '*.php' -o \
  -name '*.swift' -o -name '*.kt' -o -name '*.sh' \) -exec wc -l {} + |
  awk '$2 != "total"' | sort -rn | head -n 5 | awk '{ sub(/^ */, ""); sub(/ \.\//, " "); print }'
