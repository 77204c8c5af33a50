//! Texts for the oracle: commands that agents write, mutated with what attacks are made of. A number names a text for ever.

/// Commands that are allowed, or nearly.
pub const SEEDS: [&str; 61] = [
    "ls -la",
    "ls src/*.rs",
    "cat a.txt b.txt",
    "cat -n src/lib.rs | head -n 3",
    "head -n 1 -- a.txt",
    "tail -n +2 a.txt",
    "wc -l a.txt",
    "grep -rn evil .",
    "grep -c a a.txt b.txt",
    "grep -v x a.txt | sort -u",
    "find . -name '*.rs' -type f",
    "find src -maxdepth 1 -print",
    "sort a.txt -o b.txt",
    "sort -t, -k2,2n data.csv",
    "uniq a.txt",
    "uniq a.txt c.txt",
    "cut -d, -f1 data.csv",
    "tr a-z A-Z < a.txt",
    "sed -n '1,2p' a.txt",
    "sed 's/evil/good/g' a.txt",
    "sed -i 's/evil/good/' a.txt",
    "sed -i.bak -e '1d' a.txt",
    "awk -F, '{print $1}' data.csv",
    "awk '/a/ {n++} END {print n}' a.txt",
    "jq '.a' x.json",
    "diff -u a.txt b.txt || true",
    "stat -c %s a.txt",
    "du -sh src",
    "pwd",
    "echo hello > c.txt",
    "echo more >> papers/guide.md",
    "printf '%s\\n' a b | tee c.txt d.txt",
    "test -f a.txt && echo yes",
    "[ -d src ] || echo no",
    "true; false || echo x",
    "cd src && ls && cat main.rs",
    "cd docs; cat guide.md",
    "basename a/b.txt",
    "date +%s",
    "mkdir -p new/deep",
    "mkdir d && cd d && touch e",
    "touch c.txt",
    "cp a.txt c.txt",
    "cp a.txt src",
    "mv b.txt c.txt",
    "rm a.txt",
    "git status --porcelain",
    "git log --oneline -n 2",
    "git diff -- src",
    "git show HEAD:a.txt | sed -n 1p",
    "git add a.txt",
    "git commit -q -m 'a change' --allow-empty",
    "timeout 5 cat a.txt",
    "nice -n 5 ls",
    "env ls",
    "python3 tool.py",
    "python3 tool.py && cat made.txt",
    "make",
    "make check",
    "cd src && ls | wc -l",
    "cat <<'EOF' > notes.md\n$(id) text\nEOF",
];

/// What attacks are made of.
const FRAGMENTS: [&str; 60] = [
    " ",
    "  ",
    "\t",
    "\n",
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    "|",
    " | ",
    ">",
    ">>",
    " 2>&1",
    " 2>/dev/null",
    " &>c.txt",
    "<",
    " <<<x",
    "'",
    "\"",
    "\\",
    "\\\n",
    "''",
    "\"\"",
    "'x y'",
    "\\ ",
    "#",
    " # x",
    "*",
    "?",
    "[a]",
    "{}",
    "!",
    "~",
    "=",
    "--",
    "-",
    " -n",
    " -i",
    " -o",
    " -o c.txt",
    " -e p",
    " w c.txt",
    "/",
    "..",
    "../x",
    " .env",
    " .git/config",
    " src",
    " a.txt",
    " c.txt",
    " touch z",
    " rm b.txt",
    " sh",
    " env",
    "A=1 ",
    "-exec",
    " -delete",
    "{print}",
    "1e id",
];

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).expect("it is below the bound")
    }
}

/// One mutation: a seed, maybe joined with another, with fragments put in, words taken out or moved.
pub fn mutation(number: u64) -> String {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d);
    random.below(2);
    let mut text = SEEDS[random.below(SEEDS.len())].to_owned();
    if random.below(3) == 0 {
        let joins = ["; ", " && ", " || ", " | ", "\n"];
        text = text + joins[random.below(joins.len())] + SEEDS[random.below(SEEDS.len())];
    }
    for _ in 0..random.below(4) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = places[random.below(places.len())];
        match random.below(4) {
            0 | 1 => text.insert_str(at, FRAGMENTS[random.below(FRAGMENTS.len())]),
            2 => {
                let mut words: Vec<&str> = text.split(' ').collect();
                let taken = words.remove(random.below(words.len()));
                if random.below(2) == 0 {
                    words.insert(random.below(words.len() + 1), taken);
                }
                text = words.join(" ");
            }
            _ if at < text.len() => drop(text.remove(at)),
            _ => {}
        }
    }
    text
}
