//! `convoke prices`: what models cost, the source of each price, and a list of the person's own over the built-in one.

use crate::args::{PricesArgs, PricesCommand, PricesFormat};
use crate::config::{Config, price_list_path};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::view::format;
use convoke_model::Price;
use convoke_model::catalog::{self, Catalog, Row};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Shows prices, or changes the person's list.
pub fn run(console: &Console, args: &PricesArgs) -> Result<Exit, CommandFailure> {
    match &args.command {
        None => show(console, args)?,
        Some(PricesCommand::Update { file }) => update(console, file)?,
        Some(PricesCommand::Set { model, amounts }) => set(console, model, amounts)?,
        Some(PricesCommand::Forget { model }) => forget(console, model.as_deref())?,
    }
    Ok(Exit::Success)
}

/// A price and where it stands.
struct Known {
    /// `PROVIDER/MODEL`, or as the configuration has it.
    name: String,
    price: Price,
    window: Option<u64>,
    source: String,
}

/// Everything that is known, what counts first: the configuration, the person's list, the built-in one.
fn known(config: &Config) -> Vec<Known> {
    let stated = config.prices.iter().map(|(name, price)| {
        let key = format!("pricing.{name}.");
        let entry = config.entries.iter().find(|entry| entry.key.starts_with(&key));
        let source = entry.map_or_else(|| "configuration".to_owned(), |entry| entry.origin.to_string());
        Known { name: name.clone(), price: *price, window: None, source }
    });
    let own = config.price_list.iter().flat_map(|list| rows(list, "your list"));
    let built_in = rows(catalog::built_in(), "built in").filter(|row| !is_replaced(config, &row.name));
    stated.chain(own).chain(built_in).collect()
}

fn rows<'a>(list: &'a Catalog, whose: &'a str) -> impl Iterator<Item = Known> + 'a {
    list.rows.iter().map(move |row| Known {
        name: name_of(row),
        price: row.price,
        window: row.window,
        source: format!("{whose}, {}", list.date),
    })
}

fn name_of(row: &Row) -> String {
    format!("{}/{}", row.provider, row.model)
}

fn is_replaced(config: &Config, name: &str) -> bool {
    config.price_list.iter().flat_map(|list| &list.rows).any(|row| name_of(row) == name)
}

fn show(console: &Console, args: &PricesArgs) -> Result<(), CommandFailure> {
    let meant =
        |name: &str| args.words.is_empty() || args.words.iter().any(|word| name.contains(word.as_str()));
    let found: Vec<Known> = known(&console.config).into_iter().filter(|known| meant(&known.name)).collect();
    match args.format {
        PricesFormat::Json => console.json(&found.iter().map(record).collect::<Vec<_>>())?,
        PricesFormat::Tsv => console.data(&as_list(&console.config, meant).to_string())?,
        PricesFormat::Text => console.data(&text(&found))?,
    }
    if let Some(list) = console.config.price_list.as_ref().filter(|list| list.date < catalog::built_in().date)
    {
        let (own, ours) = (&list.date, &catalog::built_in().date);
        console.warn(&format!("your price list is of {own}, and the built-in one of {ours}; `convoke prices forget` goes back to it"));
    }
    match (args.format, found.len() as u64) {
        (PricesFormat::Text, 0) => console
            .say("no price is known for that; set one: convoke prices set PROVIDER/MODEL input=… output=…"),
        (PricesFormat::Text, count) => {
            console.say(&format!("{}, US dollars per million tokens", format::plural(count, "price")))
        }
        _ => {}
    }
    Ok(())
}

/// Both lists as one, the person's rows first.
fn as_list(config: &Config, meant: impl Fn(&str) -> bool) -> Catalog {
    let built_in = catalog::built_in();
    let own = config.price_list.iter().flat_map(|list| &list.rows);
    let ours = built_in.rows.iter().filter(|row| !is_replaced(config, &name_of(row)));
    let rows = own.chain(ours).filter(|row| meant(&name_of(row))).cloned().collect();
    Catalog { rows, ..built_in.clone() }
}

fn text(found: &[Known]) -> String {
    let width = found.iter().map(|known| known.name.chars().count()).max().unwrap_or(0);
    let line = |known: &Known| {
        let price = &known.price;
        let window =
            known.window.map(|tokens| format!("{} tokens", format::count(tokens))).unwrap_or_default();
        let long = price.long_prompt.map(|long| {
            let above = format::count(long.above);
            format!("; {} and {} above {above} tokens sent", long.input_per_mtok, long.output_per_mtok)
        });
        format!(
            "{:<width$}  {:>8} in  {:>8} out  {window:>15}  ({}{})\n",
            known.name,
            price.input_per_mtok,
            price.output_per_mtok,
            known.source,
            long.unwrap_or_default()
        )
    };
    found.iter().map(line).collect()
}

fn record(known: &Known) -> Value {
    json!({"name": known.name, "price": known.price, "window": known.window, "source": known.source})
}

fn update(console: &Console, file: &Path) -> Result<(), CommandFailure> {
    let refused = |words: String| CommandFailure::new(Exit::Refused, words);
    let text = std::fs::read_to_string(file)
        .map_err(|error| refused(format!("price list `{}` cannot be read: {error}", file.display())))?;
    let list = Catalog::parse(&text).map_err(|faults| {
        let lines: Vec<_> = faults.iter().take(10).map(ToString::to_string).collect();
        refused(format!("price list `{}`: {}", file.display(), lines.join("\n  "))).hint(
            "`convoke prices --format tsv` prints one, and `scripts/model-table` makes one from public data",
        )
    })?;
    let path = keep(&list)?;
    let rows = format::plural(list.rows.len() as u64, "price");
    console.conclude(&format!("{rows} of {} are used from now on ({})", list.date, path.display()));
    Ok(())
}

fn set(console: &Console, model: &str, amounts: &[(String, String)]) -> Result<(), CommandFailure> {
    let (provider, model) = parts(model)?;
    let mut row = Row { provider, model, window: None, price: Price::default() };
    let mut stated = Vec::new();
    for (name, amount) in amounts {
        let number: f64 =
            amount.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0).ok_or_else(
                || CommandFailure::new(Exit::Usage, format!("`{name}={amount}`: expected a number from 0")),
            )?;
        match name.as_str() {
            "input" => row.price.input_per_mtok = number,
            "output" => row.price.output_per_mtok = number,
            "cache_read" => row.price.cache_read_per_mtok = number,
            "cache_write" => row.price.cache_write_per_mtok = number,
            "window" => row.window = Some(number as u64),
            other => {
                let words = format!(
                    "`{other}` is no part of a price: input, output, cache_read, cache_write, window"
                );
                return Err(CommandFailure::new(Exit::Usage, words));
            }
        }
        stated.push(name.as_str());
    }
    if let Some(missing) = ["input", "output"].iter().find(|part| !stated.contains(part)) {
        let words = format!("a price needs input and output; `{missing}` is missing");
        return Err(CommandFailure::new(Exit::Usage, words));
    }
    let mut list = own(&console.config);
    list.rows.retain(|other| name_of(other) != name_of(&row));
    list.rows.insert(0, row.clone());
    let path = keep(&list)?;
    console.conclude(&format!(
        "{} costs ${} in and ${} out per million tokens ({})",
        name_of(&row),
        row.price.input_per_mtok,
        row.price.output_per_mtok,
        path.display()
    ));
    Ok(())
}

fn forget(console: &Console, model: Option<&str>) -> Result<(), CommandFailure> {
    let mut list = own(&console.config);
    match model {
        Some(model) => {
            let (provider, model) = parts(model)?;
            let before = list.rows.len();
            list.rows.retain(|row| (&row.provider, &row.model) != (&provider, &model));
            if list.rows.len() == before {
                let words = format!("your price list has no `{provider}/{model}`");
                return Err(CommandFailure::new(Exit::Usage, words));
            }
        }
        None => list.rows.clear(),
    }
    let path = path()?;
    match list.rows.is_empty() {
        false => drop(keep(&list)?),
        true if path.exists() => std::fs::remove_file(&path).map_err(|error| unwritten(&path, &error))?,
        true => {}
    }
    console.conclude("the built-in price list counts again");
    Ok(())
}

/// The person's list; a new one begins with the day of the built-in one.
fn own(config: &Config) -> Catalog {
    let fresh =
        || Catalog { rows: Vec::new(), source: "convoke prices set".into(), ..catalog::built_in().clone() };
    config.price_list.as_deref().cloned().unwrap_or_else(fresh)
}

/// The provider and the model in `PROVIDER/MODEL`, by the name of the service that bills.
fn parts(name: &str) -> Result<(String, String), CommandFailure> {
    let parts = name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let Some((provider, model)) = parts else {
        let words = format!("`{name}` is no PROVIDER/MODEL, such as openai/gpt-5");
        return Err(CommandFailure::new(Exit::Usage, words));
    };
    if !convoke_providers::preset::is_known(provider) {
        let words = format!(
            "unknown provider `{provider}`; there are {}",
            convoke_providers::preset::names_in_words()
        );
        return Err(CommandFailure::new(Exit::Usage, words).hint(format!(
            "prices of providers with a name of your own stand in the configuration: [pricing.\"{name}\"]"
        )));
    }
    Ok((catalog::service(provider).to_owned(), model.to_owned()))
}

fn path() -> Result<PathBuf, CommandFailure> {
    price_list_path()
        .ok_or_else(|| CommandFailure::new(Exit::State, "no configuration folder: there is no home folder"))
}

/// Puts the list in its place, whole or not at all.
fn keep(list: &Catalog) -> Result<PathBuf, CommandFailure> {
    let path = path()?;
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let partial = path.with_extension("partial");
        std::fs::write(&partial, list.to_string())?;
        std::fs::rename(&partial, &path)
    };
    write().map_err(|error: std::io::Error| unwritten(&path, &error))?;
    Ok(path)
}

fn unwritten(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(Exit::State, format!("cannot write `{}`: {error}", path.display()))
}
