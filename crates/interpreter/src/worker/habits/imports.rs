//! What the prelude adds to the interpreter's modules.

/// A module of the prelude, and what it has.
pub struct Extra {
    pub module: &'static str,
    pub names: &'static [&'static str],
    /// Whether the interpreter has no such module.
    pub is_whole: bool,
}

pub const EXTRAS: &[Extra] = &[
    Extra {
        module: "statistics",
        names: &["mean", "fmean", "median", "mode", "multimode", "variance", "pvariance", "stdev", "pstdev"],
        is_whole: true,
    },
    Extra {
        module: "itertools",
        names: &[
            "groupby",
            "product",
            "combinations",
            "combinations_with_replacement",
            "permutations",
            "tee",
        ],
        is_whole: false,
    },
    Extra { module: "functools", names: &["cache", "lru_cache"], is_whole: false },
    Extra { module: "math", names: &["prod", "fsum", "hypot", "dist"], is_whole: false },
    Extra { module: "collections", names: &["OrderedDict"], is_whole: false },
    Extra { module: "operator", names: &["itemgetter", "attrgetter", "add", "mul", "sub"], is_whole: true },
    Extra {
        module: "heapq",
        names: &["nlargest", "nsmallest", "heapify", "heappush", "heappop"],
        is_whole: true,
    },
    Extra { module: "copy", names: &["copy", "deepcopy"], is_whole: true },
    Extra {
        module: "string",
        names: &[
            "ascii_lowercase",
            "ascii_uppercase",
            "ascii_letters",
            "digits",
            "hexdigits",
            "punctuation",
            "whitespace",
        ],
        is_whole: true,
    },
];

/// What the prelude has of a module.
pub fn extra(module: &str) -> Option<&'static Extra> {
    EXTRAS.iter().find(|extra| extra.module == module)
}

impl Extra {
    /// Whether the prelude has this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }
}

/// The modules of the interpreter that programs can import but are not told of: they hold little, or nothing allowed.
pub const UNTOLD: &[&str] = &["__future__", "asyncio", "binascii", "gc", "os", "pathlib", "sys"];
