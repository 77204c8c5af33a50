# Prints "BYTES PATH" of the five largest files.
find . \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f -exec wc -c {} + |
  awk '$2 != "total"' | sort -rn | head -n 5 | awk '{ sub(/^ */, ""); sub(/ \.\//, " "); print }'
