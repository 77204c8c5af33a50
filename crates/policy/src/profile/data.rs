//! The profiles of programs that agents use; the form of a line is in `table`.

/// Programs that look at, read, make or move files.
pub const FILES: &str = r"
ls | -aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I:text -w:num -T:num --all --almost-all --author --escape --block-size=text --ignore-backups --color?text --directory --classify?text --file-type --format=text --full-time --group-directories-first --no-group --human-readable --si --hide=text --hyperlink?text --indicator-style=text --inode --ignore=text --kibibytes --literal --numeric-uid-gid --hide-control-chars --quote-name --quoting-style=text --reverse --recursive --size --sort=text --time=text --time-style=text --tabsize=num --width=num --context --zero --version --help | look*
stat | -ft -c:text --format=text --printf=text --file-system --terse --version --help | look*
file | -bhikNnprv0 -F:text -e:text --brief --mime --mime-type --mime-encoding --no-dereference --extension --version --help | read*
du | -abchklmsSx0 -d:num -B:text -t:num --all --apparent-size --block-size=text --bytes --total --max-depth=num --human-readable --summarize --separate-dirs --exclude=pattern --threshold=num --one-file-system --time?text --time-style=text --null --si --inodes --version --help | look*
df | -ahHiklPT -B:text -t:text -x:text --all --human-readable --inodes --local --portability --print-type --si --total --type=text --exclude-type=text --output?text --block-size=text --version --help | look*
tree | -adfghinpqstuvxACDFNQrSJXU -L:num -P:pattern -I:pattern --dirsfirst --filesfirst --noreport --prune --matchdirs --ignore-case --charset=text --filelimit=num --gitignore --inodes --device --sort=text --du --si --timefmt=text --version --help | look*
realpath | -eLmPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --no-symlinks --strip --zero --relative-to=look --relative-base=look --version --help | look*
readlink | -efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --zero --version --help | look*
mkdir | -pv -m:text --parents --verbose --mode=text --version --help | write*
touch | -achm -d:text -t:num -r:look --no-create --date=text --reference=look --time=text --no-dereference --version --help | write*
rm | -fivd --force --verbose --dir --interactive?text --one-file-system --preserve-root --version --help | replace*
rmdir | -pv --parents --verbose --ignore-fail-on-non-empty --version --help | replace*
cp | -bfinpuvT -t:write -S:text --backup?text --force --interactive --no-clobber --update?text --verbose --target-directory=write --no-target-directory --preserve?text --suffix=text --version --help | text*
mv | -bfinuvT -t:write -S:text --backup?text --force --interactive --no-clobber --update?text --verbose --target-directory=write --no-target-directory --suffix=text --version --help | text*
ln | -fnsvrT --force --no-dereference --symbolic --verbose --relative --no-target-directory --version --help | text*
chmod | -cfv --changes --silent --quiet --verbose --version --help | text write*
tee | -aip --append --ignore-interrupts --output-error?text --version --help | write*
basename | -az -s:text --multiple --suffix=text --zero --version --help | text*
dirname | -z --zero --version --help | text*
pwd | -LP | none
mktemp | none | none
";

/// Programs that work on text, and those that only say something.
pub const TEXT: &str = r"
cat | -AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting --version --help | read*
head | -qvz -# -n:num -c:num --lines=num --bytes=num --quiet --silent --verbose --zero-terminated --version --help | read*
tail | -qvz -# -n:num -c:num --lines=num --bytes=num --quiet --silent --verbose --zero-terminated --version --help | read*
wc | -clmwL --bytes --chars --lines --max-line-length --words --total=text --version --help | read*
sort | -bdfgihMnRrVcCmsuz -k:text -t:text -o:write -S:num --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort=text --version-sort --check?text --key=text --merge --output=write --stable --buffer-size=num --field-separator=text --parallel=num --unique --zero-terminated --version --help | read*
uniq | -cdDiuz -f:num -s:num -w:num --count --repeated --all-repeated?text --skip-fields=num --group?text --ignore-case --skip-chars=num --unique --zero-terminated --check-chars=num --version --help | read? write?
cut | -nsz -b:text -c:text -d:text -f:text --bytes=text --characters=text --delimiter=text --fields=text --complement --only-delimited --output-delimiter=text --zero-terminated --version --help | read*
paste | -sz -d:text --delimiters=text --serial --zero-terminated | read*
comm | -123iz --check-order --nocheck-order --output-delimiter=text --total --zero-terminated | read read
nl | -p -b:text -d:text -f:text -h:text -i:num -l:num -n:text -s:text -v:num -w:num --body-numbering=text --number-format=text --number-width=num | read*
tac | -br -s:text --before --regex --separator=text | read*
fold | -bs -w:num --bytes --spaces --width=num | read*
od | -abcdfilosxv -A:text -j:num -N:num -t:text -w?num --address-radix=text --skip-bytes=num --read-bytes=num --format=text --width?num | read*
sha256sum,sha1sum,md5sum,cksum | -bt --binary --text --tag --zero | read*
tr | -cCdst --complement --delete --squeeze-repeats --truncate-set1 --version --help | text text?
diff | -qscCuUyNrbwBiaTtdpH -# -U:num -C:num -W:num -I:text -x:pattern -F:text --brief --report-identical-files --context?num --unified?num --side-by-side --width=num --left-column --suppress-common-lines --show-c-function --show-function-line=text --label=text --expand-tabs --initial-tab --recursive --new-file --unidirectional-new-file --ignore-file-name-case --exclude=pattern --exclude-from=read --from-file=read --to-file=read --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=text --text --strip-trailing-cr --minimal --speed-large-files --color?text --normal --ed --rcs --no-dereference --version --help | read read
cmp | -blsv -i:num -n:num --print-bytes --verbose --quiet --silent --bytes=num --ignore-initial=num --version --help | read read num? num?
grep,egrep,fgrep | -abcEFGHhiILlnoPqrsTUVvwxyzZ -# -A:num -B:num -C:num -m:num -e:text! -f:read! -d:text -D:text --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp=text! --file=read! --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color?text --colour?text --files-without-match --files-with-matches --max-count=num --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label=text --line-number --initial-tab --null --after-context=num --before-context=num --context=num --group-separator=text --no-group-separator --text --binary-files=text --directories=text --devices=text --exclude=pattern --exclude-dir=pattern --include=pattern --recursive --null-data --line-buffered --binary --version --help | text read*
rg | -abcFHIilnNopPqsSUuvwx0V. -# -A:num -B:num -C:num -m:num -M:num -d:num -j:num -e:text! -f:read! -g:pattern -t:text -T:text -r:text -E:text --after-context=num --before-context=num --context=num --regexp=text! --file=read! --case-sensitive --ignore-case --smart-case --invert-match --word-regexp --line-regexp --fixed-strings --pcre2 --multiline --multiline-dotall --count --count-matches --files! --files-with-matches --files-without-match --glob=pattern --iglob=pattern --glob-case-insensitive --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --no-config --ignore-file=read --max-columns=num --max-columns-preview --max-count=num --max-depth=num --max-filesize=num --type=text --type-not=text --type-list! --type-add=text --type-clear=text --line-number --no-line-number --column --no-column --with-filename --no-filename --heading --no-heading --only-matching --passthru --quiet --replace=text --sort=text --sortr=text --stats --json --vimgrep --color=text --colors=text --no-messages --no-ignore-messages --null --null-data --text --binary --trim --no-trim --unrestricted --encoding=text --engine=text --threads=num --one-file-system --crlf --debug --pretty --context-separator=text --field-match-separator=text --path-separator=text --byte-offset --block-buffered --line-buffered --no-unicode --auto-hybrid-regex --stop-on-nonmatch --include-zero --mmap --no-mmap --version --help | text read*
fd,fdfind | -HIuisgFapl0q1 -# -d:num -t:text -e:text -E:pattern -S:text -c:text -j:num --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --full-path --list-details --print0 --max-depth=num --min-depth=num --exact-depth=num --prune --type=text --extension=text --exclude=pattern --size=text --changed-within=text --changed-before=text --newer=text --older=text --color=text --max-results=num --quiet --show-errors --threads=num --one-file-system --strip-cwd-prefix --relative-path --and=text --version --help | text? look*
sed | -nErsuz -e:text! -i?text --quiet --silent --expression=text! --regexp-extended --in-place?text --separate --unbuffered --null-data --line-length=num -l:num --sandbox --posix --version --help | text read*
awk,gawk,mawk,nawk | -F:text -v:text --version | text text*
jq | -abcCeMnrRsSj -L:text --tab --indent=num --compact-output --color-output --monochrome-output --ascii-output --exit-status --null-input --raw-input --raw-output --raw-output0 --join-output --slurp --sort-keys --seq --stream --stream-errors --unbuffered --version --help | text read*
date | -uR -I?text -d:text -r:look --date=text --utc --universal --iso-8601?text --rfc-3339=text --rfc-email --reference=look --resolution --version --help | text?
sleep | --version | num*
seq | -w -f:text -s:text --equal-width --format=text --separator=text | num*
uname | -asnrvmpio --all --kernel-name --nodename --kernel-release --machine --operating-system | none
whoami,true,false,: | --version | text*
which | -a | text*
id | -ugGn | none
";

/// Sub-commands of git. Global options have no line: they are not taken.
pub const GIT: &str = r"
git status | -sbuzv -u?text --short --branch --show-stash --porcelain?text --long --verbose --untracked-files?text --ignored?text --ignore-submodules?text --null --column?text --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?num | pathspec*
git diff | -pusbwaRzWD -M?num -C?num -B?num -O:read -S:text -G:text -U:num -l:num -# --patch --no-patch --unified=num --raw --patch-with-raw --minimal --patience --histogram --anchored=text --diff-algorithm=text --stat?text --numstat --shortstat --dirstat?text --cumulative --summary --patch-with-stat --null --name-only --name-status --color?text --no-color --color-moved?text --no-color-moved --word-diff?text --word-diff-regex=text --color-words?text --no-renames --rename-empty --check --full-index --binary --abbrev?num --break-rewrites?text --find-renames?num --find-copies?num --find-copies-harder --irreversible-delete --diff-filter=text --pickaxe-all --pickaxe-regex --skip-to=text --rotate-to=text --relative?text --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=text --inter-hunk-context=num --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules?text --src-prefix=text --dst-prefix=text --no-prefix --line-prefix=text --ita-invisible-in-index --staged --cached --merge-base --base --ours --theirs --submodule?text --compact-summary --exit-code | rev* -- pathspec*
git log,git show,git shortlog,git whatchanged | -pusbwaRzWgimcq -M?num -C?num -S:text -G:text -U:num -L:text -n:num -# -E -F -P --patch --no-patch --unified=num --raw --minimal --patience --histogram --diff-algorithm=text --stat?text --numstat --shortstat --dirstat?text --summary --patch-with-stat --null --name-only --name-status --color?text --no-color --word-diff?text --color-words?text --no-renames --check --full-index --binary --abbrev?num --abbrev-commit --no-abbrev-commit --find-renames?num --find-copies?num --find-copies-harder --diff-filter=text --pickaxe-all --pickaxe-regex --relative?text --text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --function-context --exit-code --quiet --no-ext-diff --no-textconv --oneline --graph --no-graph --decorate?text --no-decorate --decorate-refs=text --clear-decorations --source --all --branches?text --tags?text --remotes?text --glob=text --exclude=text --reflog --walk-reflogs --follow --full-diff --log-size --max-count=num --skip=num --since=text --after=text --until=text --before=text --since-as-filter=text --author=text --committer=text --grep=text --grep-reflog=text --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents=num --max-parents=num --first-parent --not --cherry --cherry-pick --cherry-mark --left-only --right-only --left-right --merge --boundary --simplify-by-decoration --full-history --dense --sparse --ancestry-path?text --date-order --author-date-order --topo-order --reverse --pretty?text --format=text --date=text --relative-date --parents --children --notes?text --no-notes --no-mailmap --mailmap --use-mailmap --no-use-mailmap --expand-tabs?num --no-expand-tabs --no-walk?text --do-walk --remerge-diff --diff-merges=text --no-diff-merges --dd --cc --encoding=text --numbered --email --group=text -e -s --compact-summary --submodule?text --src-prefix=text --dst-prefix=text --no-prefix | rev* -- pathspec*
git blame,git annotate | -bltfnsewcp -M?num -C?num -L:text --root --show-stats --reverse --first-parent --porcelain --line-porcelain --incremental --encoding=text --date=text --progress --no-progress --abbrev=num --ignore-rev=text --color-lines --color-by-age --show-name --show-number --show-email --no-textconv | rev* -- pathspec*
git ls-files | -cdmokiustvfz -x:text -X:read --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --deduplicate --exclude=text --exclude-from=read --exclude-standard --error-unmatch --full-name --abbrev?num --debug --format=text --resolve-undo --sparse | pathspec* -- pathspec*
git ls-tree | -drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev?num --format=text | rev pathspec*
git rev-parse | -q --verify --short?num --symbolic --symbolic-full-name --abbrev-ref?text --all --branches?text --tags?text --remotes?text --glob=text --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-object-format?text --show-superproject-working-tree --path-format=text --quiet --revs-only --no-revs --flags --no-flags --not --since=text --until=text --disambiguate=text --local-env-vars | rev* -- pathspec*
git rev-list | -n:num -# --count --all --branches?text --tags?text --remotes?text --max-count=num --skip=num --since=text --until=text --author=text --grep=text --first-parent --merges --no-merges --reverse --left-right --cherry-pick --objects --parents --children --topo-order --date-order --oneline --pretty?text --format=text --abbrev-commit --not --no-walk?text --left-only --right-only --ancestry-path | rev* -- pathspec*
git describe | --all --tags --contains --always --long --abbrev=num --candidates=num --exact-match --match=text --exclude=text --first-parent --dirty?text --broken?text | rev*
git merge-base | -a --all --octopus --independent --is-ancestor --fork-point | rev*
git cat-file | -tsep --batch-all-objects --buffer --unordered --allow-unknown-type --no-use-mailmap --use-mailmap | rev*
git grep | -aIiwvhHEGFPnlLzcqpWo -e:text! -f:read! -A:num -B:num -C:num -m:num -# --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color?text --no-color --break --heading --show-function --after-context=num --before-context=num --context=num --function-context --max-count=num --threads=num --and --or --not --all-match --quiet --max-depth=num --cached --recursive --no-recursive --exclude-standard --no-textconv | text rev* -- pathspec*
git branch --list | -arvqi --list --all --remotes --verbose --color?text --no-color --column?text --no-column --sort=text --merged?text --no-merged?text --contains?text --no-contains?text --points-at=text --format=text --show-current --ignore-case --abbrev?num --no-abbrev --omit-empty | text*
git tag --list | -li -n?num --list --sort=text --contains?text --no-contains?text --merged?text --no-merged?text --points-at=text --format=text --column?text --no-column --color?text --ignore-case | text*
git remote | -v --verbose | none
git reflog show | -n:num -# --oneline --date=text --all --format=text --pretty?text --max-count=num | rev*
git stash list | -n:num -# -p --oneline --stat --date=text --format=text --pretty?text | none
git stash show | -pu --patch --stat --name-only --name-status --include-untracked --only-untracked --no-ext-diff --no-textconv | rev*
git check-ignore | -vqnz --verbose --quiet --non-matching --no-index | pathspec*
git check-attr | -az --all --cached | text pathspec*
git count-objects | -vH --verbose --human-readable | none
git for-each-ref | --count=num --sort=text --format=text --merged?text --no-merged?text --contains?text --points-at=text --ignore-case --omit-empty | text*
git show-ref | -dqs --head --tags --heads --branches --dereference --hash?num --verify --abbrev?num --quiet | text*
git name-rev | --tags --refs=text --name-only --all --no-undefined --always | rev*
git version | none | none
git add | -nvfAuN --dry-run --verbose --all --no-all --update --no-update --intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod=text --ignore-removal --no-ignore-removal | pathspec* -- pathspec*
git commit | -aqvsn -m:text -F:read --message=text --file=read --all --amend --no-edit --allow-empty --allow-empty-message --author=text --date=text --signoff --no-signoff --quiet --verbose --dry-run --short --porcelain --no-verify --no-post-rewrite --reset-author --only --include --no-gpg-sign --cleanup=text --no-status --trailer=text --fixup=text --reuse-message=rev -C:rev --no-signoff | pathspec* -- pathspec*
git switch | -dq -c:text -C:text --create=text --detach --quiet --no-guess --guess --discard-changes --merge --no-progress --no-recurse-submodules --track?text --no-track --orphan=text | rev*
git restore | -SWqm -s:rev --source=rev --staged --worktree --quiet --ours --theirs --merge --overlay --no-overlay --ignore-unmerged --no-progress | written* -- written*
git checkout | -q -b:text -B:text -d --quiet --detach --ours --theirs --track?text --no-track --no-guess --no-progress --no-recurse-submodules | rev* -- written*
git reset | -q --quiet --soft --mixed --hard --keep --merge | rev* -- pathspec*
git mv | -fknv --force --verbose --dry-run | written*
git rm | -fnq --force --dry-run --cached --quiet --ignore-unmatch | written* -- written*
git stash,git stash push | -kqua -m:text --keep-index --no-keep-index --quiet --include-untracked --all --staged --message=text | written* -- written*
git stash pop,git stash apply | -q --index --quiet | rev*
git stash drop,git stash clear | -q --quiet | rev*
git merge | -q -m:text --ff --no-ff --ff-only --squash --no-squash --no-commit --commit --no-edit --abort --quiet --no-verify --stat --no-stat --no-gpg-sign --no-verify-signatures | rev*
git rebase | -q --abort --quit --skip --onto=rev --no-verify --quiet --no-gpg-sign --no-autostash | rev*
git cherry-pick | -nx --no-commit --abort --quit --no-gpg-sign | rev*
git revert | -n --no-commit --no-edit --abort --quit --no-gpg-sign | rev*
";

/// Programs that build, test or run the project.
pub const PROJECT: &str = r"
cargo build,cargo check,cargo clippy,cargo doc,cargo test,cargo bench,cargo run,cargo rustdoc | -qvr -j:num -p:text -F:text --quiet --verbose --release --profile=text --package=text --workspace --all --exclude=text --lib --bins --bin=text --examples --example=text --tests --test=text --benches --bench=text --all-targets --doc --no-run --no-fail-fast --features=text --all-features --no-default-features --target=text --target-dir=write --jobs=num --keep-going --message-format=text --color=text --locked --offline --frozen --manifest-path=read --ignore-rust-version --timings?text --fix --allow-dirty --allow-staged --allow-no-vcs --no-deps --open --document-private-items --future-incompat-report | text* -- text*
cargo fmt | -qv -p:text --quiet --verbose --check --all --package=text --manifest-path=read --message-format=text | none -- text*
cargo metadata | -qv -F:text --quiet --verbose --no-deps --format-version=num --features=text --all-features --no-default-features --filter-platform=text --manifest-path=read --locked --offline --frozen --color=text | none
cargo tree | -qv -p:text -i:text -e:text -F:text -f:text -d --quiet --verbose --package=text --invert=text --duplicates --edges=text --features=text --all-features --no-default-features --prefix=text --depth=text --prune=text --format=text --target=text --workspace --no-dedupe --charset=text --manifest-path=read --locked --offline --frozen | text*
cargo --version,cargo version,rustc | -vVV --version --verbose | none
npm run,npm run-script,npm test,npm t,npm start,npm ci,npm install,npm i | -s --silent --if-present --workspaces --workspace=text -w:text --offline --no-audit --no-fund --ignore-scripts --quiet --loglevel=text --prefer-offline | text* -- text*
npm ls,npm list | -a --all --depth=num --json --long --parseable --production --dev --omit=text --prod | text*
npm --version | none | none
node --test | --test --test-only --test-name-pattern=text --test-reporter=text --test-concurrency=num | read*
node --check | -c --check | read
pip list,pip freeze,pip check,pip show | -qvlo --outdated --uptodate --local --user --format=text --files --verbose --quiet --not-required --all --disable-pip-version-check | text*
pip --version,python --version,node --version,go version,make --version | -vV --version | none
go build,go test,go vet,go run,go list,go fmt | --v --x --n --race --cover --short --failfast --json --m --u --run=text --bench=text --count=num --timeout=num --tags=text --p=num --parallel=num --cpu=text --coverprofile=write --covermode=text --o=write --f=text --mod=text | text*
go doc | --all --src --u --short --cmd | text*
make | -BiknsSqtwr -j?num -l?num -C:read -f:read -O?text --always-make --directory=read --file=read --makefile=read --ignore-errors --jobs?num --keep-going --dry-run --just-print --silent --quiet --question --no-print-directory --print-directory --output-sync?text --version | text*
pytest | -vqxsl -k:text -m:text -n:text -r:text --verbose --quiet --exitfirst --maxfail=num --lf --ff --last-failed --failed-first --collect-only --co --durations=num --tb=text --no-header --no-summary --color=text --capture=text --junitxml=write --version | read*
";

/// Programs that run another program. What follows their own arguments is judged as a command of its own.
pub const WRAPPERS: &str = r"
env | -i0v -u:text --ignore-environment --unset=text --null --debug | none
timeout | -v -k:num -s:text --kill-after=num --signal=text --preserve-status --foreground --verbose | num
nice | -# -n:num --adjustment=num | none
ionice | -t -c:num -n:num --class=num --classdata=num --ignore | none
nohup | --version | none
stdbuf | -i:text -o:text -e:text --input=text --output=text --error=text | none
setsid | -cfw --ctty --fork --wait | none
command | -p | none
exec | none | none
builtin | none | none
chrt,taskset | none | none
time | -p | none
sudo,doas | -nEHSkKbAPsi -u:text -g:text -h:text -p:text -C:text -r:text -t:text --user=text --group=text --non-interactive --preserve-env?text | none
busybox,toybox | none | none
xargs | -0rtpxo -a:read -d:text -E:text -I:text -i?text -L:num -l?num -n:num -P:num -s:num --null --arg-file=read --delimiter=text --eof?text --replace?text --max-lines?num --max-args=num --max-procs=num --no-run-if-empty --max-chars=num --verbose --exit --interactive --process-slot-var=text | none
";
