# Prints {"files": N, "lines": N} of the folder $1.
find "./$1" \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f -exec wc -l {} + | awk '
  $2 == "total" { next }
  { files++; lines += $1 }
  END { printf "{\"files\": %d, \"lines\": %d}\n", files, lines }'
