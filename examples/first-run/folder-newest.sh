# Prints the file of the folder $1 that changed last.
find "./$1" \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f -exec ls -td {} + | head -n 1 | cut -c3-
