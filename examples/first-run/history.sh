# Prints {"repository": false} or what git knows about this folder.
command -v git >/dev/null 2>&1 && git rev-parse --verify -q HEAD >/dev/null 2>&1 || {
  echo '{"repository": false}'
  exit 0
}
commits=$(git rev-list --count HEAD -- .)
recent=$(git rev-list --count --since='30 days ago' HEAD -- .)
authors=$(git log --format=%ae -- . | sort -u | wc -l)
last=$(git log -1 --format=%cs -- .)
open=$(git status --porcelain -- . | wc -l)
busiest=$(git log -n 200 --name-only --format= -- . | sort | uniq -c | sort -rn | head -n 3 |
  awk '{ n = $1; sub(/^ *[0-9]+ /, ""); gsub(/["\\]/, ""); printf "%s{\"path\": \"%s\", \"commits\": %d}", comma, $0, n; comma = ", " }')
printf '{"repository": true, "commits": %d, "recent": %d, "authors": %d, "last": "%s", "open": %d, "busiest": [%s]}\n' \
  "$commits" "$recent" "$authors" "$last" "$open" "$busiest"
