//! Where the sentences of an answer come from: which source each cites, and whether a quotation stands there.
//!
//! A citation is a mark in square brackets (`[S3]`, `[S1, S4]`) behind a claim: the words since the sentence, or the mark before it, began.
//! A mark of no source and a quotation that none of its sources has are wrong. What is not quoted cannot be checked by letters, and
//! is said to be unchecked. Pure: the same texts give the same findings.

use crate::Digest;
use crate::synthesis::index_of;
use serde::{Deserialize, Serialize};

/// One citation of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The marks, as they stand there: `S3`.
    pub marks: Vec<String>,
    /// The sources that there are of them, counted from 0.
    pub sources: Vec<usize>,
    /// The words that it stands behind.
    pub claim: String,
    /// The first quotation in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The hash of the passage that was quoted, as it was compared; where nothing is, absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Digest>,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a citation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A mark is of no source.
    UnknownSource,
    /// None of the sources has the quotation.
    QuoteMissing,
    /// A source has every quotation.
    QuoteFound,
    /// Nothing is quoted: nothing was compared.
    Unchecked,
}

impl Verdict {
    /// Whether something is wrong.
    pub fn is_wrong(self) -> bool {
        matches!(self, Verdict::UnknownSource | Verdict::QuoteMissing)
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::UnknownSource => "there is no such source",
            Verdict::QuoteMissing => "the source does not have these words",
            Verdict::QuoteFound => "quoted from the source",
            Verdict::Unchecked => "in other words: unchecked",
        }
    }
}

/// The longest claim that is kept, in characters.
const LONGEST_CLAIM: usize = 400;

/// The citations of an answer, in its order. `source` is the text of a source, counted from 0.
pub fn citations(answer: &str, sources: usize, source: &dyn Fn(usize) -> String) -> Vec<Citation> {
    let mut known: Vec<Option<String>> = vec![None; sources];
    let mut found = Vec::new();
    let mut from = 0;
    for group in groups(answer) {
        let claim = claim_before(answer, from, group.start);
        from = group.end;
        let numbers: Vec<usize> = group.marks.iter().filter_map(|mark| index_of(mark, sources)).collect();
        for number in &numbers {
            known[*number].get_or_insert_with(|| normal(&source(*number)));
        }
        let texts: Vec<&str> = numbers.iter().filter_map(|number| known[*number].as_deref()).collect();
        found.push(judged(group.marks, numbers, claim, &texts));
    }
    found
}

fn judged(marks: Vec<String>, sources: Vec<usize>, claim: &str, texts: &[&str]) -> Citation {
    let quotes = quotes(claim);
    let has = |quote: &&str| texts.iter().any(|text| contains(text, quote));
    let verdict = match (sources.len() < marks.len(), quotes.iter().all(has)) {
        (true, _) => Verdict::UnknownSource,
        (false, false) => Verdict::QuoteMissing,
        (false, true) if quotes.is_empty() => Verdict::Unchecked,
        (false, true) => Verdict::QuoteFound,
    };
    // The quotation that is missing says more than one that is there.
    let shown =
        quotes.iter().find(|quote| !has(quote)).or_else(|| quotes.first()).map(|quote| (*quote).to_owned());
    let excerpt = shown
        .as_ref()
        .filter(|_| verdict == Verdict::QuoteFound)
        .map(|quote| Digest::of(normal(quote).as_bytes()));
    let claim = claim.chars().take(LONGEST_CLAIM).collect();
    Citation { marks, sources, claim, quote: shown, excerpt, verdict }
}

/// Marks in one pair of brackets.
struct Group {
    start: usize,
    end: usize,
    marks: Vec<String>,
}

fn groups(text: &str) -> Vec<Group> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('[') {
        let Some(length) = text[start..].find(']') else { break };
        let words = text[start + 1..start + length].split([',', ';', ' ']).filter(|word| !word.is_empty());
        let marks: Vec<String> = words.map(str::to_owned).collect();
        if !marks.is_empty() && marks.iter().all(|mark| is_mark(mark)) {
            found.push(Group { start, end: start + length + 1, marks });
        }
    }
    found
}

fn is_mark(word: &str) -> bool {
    let number = word.strip_prefix(['S', 's']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The words before a mark: of its sentence, or of the sentence before where the mark stands behind a full stop. Never words that
/// another mark stands behind, unless marks stand side by side.
fn claim_before(text: &str, from: usize, mark: usize) -> &str {
    let open = &text[from..mark];
    if open.trim().is_empty() && from > 0 {
        // `[S1][S2]`: the same claim.
        let before = text[..from].rfind('[').unwrap_or(0);
        let earlier = text[..before].rfind(']').map_or(0, |at| at + 1);
        return claim_before(text, earlier, before);
    }
    let head = open.trim_end();
    let ended = head.trim_end_matches(['.', '!', '?', '"', '”', '»', ')', '*', '_']);
    let start = sentence_start(ended);
    head[start..].trim_start_matches(|c: char| c.is_whitespace() || ".!?,;:)*-•".contains(c)).trim_end()
}

/// Where the last sentence of a text begins. Inside of a quotation no sentence ends.
fn sentence_start(text: &str) -> usize {
    let (mut start, mut quoted, mut last) = (0, false, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '“' | '«' | '„' => quoted = true,
            '”' | '»' => quoted = false,
            '\n' if !quoted => start = at + 1,
            c if c.is_whitespace() && !quoted && matches!(last, '.' | '!' | '?') => start = at,
            _ => {}
        }
        last = c;
    }
    start
}

/// What stands in quotation marks.
fn quotes(claim: &str) -> Vec<&str> {
    let pairs = [('"', '"'), ('“', '”'), ('«', '»'), ('„', '“')];
    let mut found = Vec::new();
    let mut rest = claim;
    while let Some((at, open)) = rest.char_indices().find(|(_, c)| pairs.iter().any(|(open, _)| open == c)) {
        let inside = &rest[at + open.len_utf8()..];
        let closes = |c: char| {
            pairs.iter().any(|(start, end)| *start == open && *end == c) || (open == '“' && c == '"')
        };
        let Some(end) = inside.find(closes) else { break };
        if inside[..end].chars().any(char::is_alphanumeric) {
            found.push(&inside[..end]);
        }
        rest = inside[end..].split_at(inside[end..].chars().next().map_or(0, char::len_utf8)).1;
    }
    found
}

/// Whether a text that was made normal has a quotation. Where something is left out of it, its parts stand one behind the other.
fn contains(text: &str, quote: &str) -> bool {
    let quote = quote.replace("[...]", "…").replace("[…]", "…").replace("...", "…");
    let mut rest = text;
    quote.split('…').map(normal).filter(|part| !part.is_empty()).all(|part| match rest.find(&part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// A text as it is compared: small letters, one kind of space, dash and apostrophe, no emphasis, no quotation marks, no
/// punctuation at the ends.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '*' | '_' | '`' | '\\' | '"' | '“' | '”' | '«' | '»' | '„' | '\u{ad}' | '\u{200b}'
            | '\u{feff}' => {}
            '‘' | '’' | '‚' | '´' => out.push('\''),
            '‐' | '‑' | '‒' | '–' | '—' | '−' => out.push('-'),
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
    out.trim_matches(|c: char| c.is_whitespace() || ".,;:!?".contains(c)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(answer: &str, sources: &[&str]) -> Vec<Verdict> {
        citations(answer, sources.len(), &|at| sources[at].to_owned()).iter().map(|one| one.verdict).collect()
    }

    /// Sentences as sources have them, and how an answer may write a quotation of them.
    const SENTENCES: [(&str, &str); 10] = [
        ("Rents in the harbour rose by 12% since 2019.", "Rents in the harbour rose by 12% since 2019"),
        ("The owner’s lease ends in March — not before.", "the owner's lease ends in March - not before."),
        ("It has **three** floors and a _cellar_.", "three floors and a cellar"),
        ("Nobody\n  has asked   the bank yet", "Nobody has asked the bank yet"),
        ("He said \"never again\" in the meeting.", "said never again in the meeting"),
        ("Costs: 4,000 euros a month, heating included.", "4,000 euros a month … heating included"),
        ("The Café opens at 7:30; it closes at noon", "the café opens at 7:30"),
        ("A long way from the station to the site (2 km)", "from the station [...] (2 km)"),
        ("Ten offers came in, two of them serious", "Ten offers came in, ... two of them serious"),
        ("Insurance does not cover floods!", "Insurance does not cover floods"),
    ];

    /// How an answer puts a quotation and its mark.
    const FRAMES: [&str; 5] = [
        "It is known: \"QUOTE\" [MARK].",
        "Earlier things do not matter. One report says that “QUOTE” [MARK]. And then more.",
        "Two lines\n- «QUOTE» [MARK]\n- another",
        "As it says: \"QUOTE.\" [MARK]",
        "First a paraphrase [S2], then \"QUOTE\" [MARK].",
    ];

    fn framed(frame: &str, quote: &str, mark: &str) -> String {
        frame.replace("QUOTE", quote).replace("MARK", mark)
    }

    /// Fifty answers that quote rightly, fifty that do not, and fifty that cite what is not there.
    #[test]
    fn planted_citations_are_told_from_right_ones() {
        let sources: Vec<&str> = SENTENCES.iter().map(|(source, _)| *source).collect();
        let (mut right, mut wrong, mut unknown) = (0, 0, 0);
        for (at, (_, quote)) in SENTENCES.iter().enumerate() {
            for frame in FRAMES {
                let is_flagged = |answer: &str| verdicts(answer, &sources).iter().any(|one| one.is_wrong());
                let answer = framed(frame, quote, &format!("S{}", at + 1));
                assert!(!is_flagged(&answer), "{answer}: {:?}", verdicts(&answer, &sources));
                assert!(verdicts(&answer, &sources).contains(&Verdict::QuoteFound), "{answer}");
                right += 1;
                // The words of another source.
                let other = framed(frame, quote, &format!("S{}", (at + 1) % SENTENCES.len() + 1));
                assert!(is_flagged(&other), "{other}");
                wrong += 1;
                let nowhere = framed(frame, quote, "S11");
                assert!(is_flagged(&nowhere), "{nowhere}");
                unknown += 1;
            }
        }
        assert_eq!((right, wrong, unknown), (50, 50, 50));
    }

    #[test]
    fn a_paraphrase_is_unchecked_and_no_mark_is_no_citation() {
        assert_eq!(verdicts("Rents rise [S1]. See [1] and [note S1].", &["x"]), [Verdict::Unchecked]);
        assert_eq!(verdicts("Both say so [S1, S2].", &["x", "y"]), [Verdict::Unchecked]);
        assert_eq!(
            verdicts("\"it is so\" [S1][S2].", &["x", "it is so"]),
            [Verdict::QuoteMissing, Verdict::QuoteFound]
        );
        assert_eq!(verdicts("\"it is so\" [S1, S2].", &["x", "it is so"]), [Verdict::QuoteFound]);
    }

    #[test]
    fn a_claim_is_what_stands_before_its_mark() {
        let answer = "Old news. Rents rise [S1], and \"nobody asked\" [S2]. Done [S3].";
        let all = citations(answer, 3, &|_| "nobody asked".to_owned());
        let claims: Vec<&str> = all.iter().map(|one| one.claim.as_str()).collect();
        assert_eq!(claims, ["Rents rise", "and \"nobody asked\"", "Done"]);
        assert_eq!(all[1].quote.as_deref(), Some("nobody asked"));
        assert_eq!(all[1].excerpt, Some(Digest::of(b"nobody asked")));
    }
}
