# Prints {"lines": all, "languages": [{"name", "files", "lines"}, ...]} for the source files below this folder.
find . \( -name '.?*' -o -name target -o -name node_modules \) -prune -o -type f -name '*.*' -exec wc -l {} + | awk '
  BEGIN {
    split("rs Rust py Python js JavaScript ts TypeScript tsx TypeScript jsx JavaScript go Go java Java kt Kotlin" \
          " c C h C cc C++ cpp C++ hpp C++ cs C# rb Ruby php PHP swift Swift sh Shell sql SQL html HTML css CSS" \
          " md Markdown yaml YAML yml YAML toml TOML", pairs, " ")
    for (i = 1; i in pairs; i += 2) language[pairs[i]] = pairs[i + 1]
  }
  {
    lines = $1
    parts = split($0, part, ".")
    name = language[tolower(part[parts])]
    if (name == "") next
    all += lines; count[name] += lines; files[name]++
  }
  END {
    printf "{\"lines\": %d, \"languages\": [", all
    while (1) {
      best = ""
      for (name in count) if (best == "" || count[name] > count[best] || (count[name] == count[best] && name < best)) best = name
      if (best == "") break
      printf "%s{\"name\": \"%s\", \"files\": %d, \"lines\": %d}", comma, best, files[best], count[best]
      comma = ", "
      delete count[best]
    }
    print "] }"
  }'
