# Prints the $1 folders with the most files, one per line; where a folder is little more than the sum of its folders,
# those are meant.
find . \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f -path './*/*' -print | awk -F/ '
  NF > 3 { deep[$2]++; inner[$2 "/" $3]++; next }
  { flat[$2]++ }
  END {
    for (name in deep) if (deep[name] <= flat[name]) flat[name] += deep[name]; else delete flat[name]
    for (name in flat) print flat[name] "\t" name
    for (name in inner) { split(name, part, "/"); if (!(part[1] in flat)) print inner[name] "\t" name }
  }' | sort -k1,1nr -k2 | head -n "$1" | cut -f2-
