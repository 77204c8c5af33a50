//! What models cost where the files do not say: the configuration's prices, then public price lists.
//!
//! A list holds for a service at its own address. At any other address, and for programs, a price is known only if a person stated
//! it. The names in the configuration are those of `limits.models`: `MODEL`, `PROVIDER/MODEL`, `PROVIDER`.

use convoke_model::catalog::{self, Catalog};
use convoke_model::{Billing, Price, Prices, ProviderSettings, Service};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The prices that a plan is made with.
#[derive(Debug, Clone, Default)]
pub struct PriceBook {
    /// Those of the configuration, by `MODEL`, `PROVIDER/MODEL` or `PROVIDER`.
    pub stated: BTreeMap<String, Price>,
    /// A price list of the person's own, which comes before the built-in one.
    pub list: Option<Arc<Catalog>>,
    /// Whether the built-in list counts. It is read when the first price is looked up in it: most runs need none.
    pub built_in: bool,
}

/// Says what is known of a provider; `None` where no such provider can be made.
#[derive(Debug, Clone, Copy)]
pub struct Services(pub fn(&ProviderSettings) -> Option<Service>);

impl Services {
    /// What is known of a provider.
    pub fn of(&self, provider: &ProviderSettings) -> Option<Service> {
        (self.0)(provider)
    }
}

impl Default for Services {
    /// Only the stand-in for a model is known.
    fn default() -> Services {
        Services(|provider| (provider.name == "scripted").then_some(Service::STAND_IN))
    }
}

/// A provider as its prices are looked up: by the names that people have for it.
pub(in crate::compile) struct Payee<'a> {
    pub settings: &'a ProviderSettings,
    pub service: Option<Service>,
    /// Names of the configuration that stand for it, and its own where the configuration means nothing else by it.
    pub names: Vec<&'a str>,
}

impl<'a> Payee<'a> {
    pub fn new(
        settings: &'a ProviderSettings,
        services: Services,
        configured: &'a BTreeMap<String, ProviderSettings>,
    ) -> Payee<'a> {
        let same = |other: &ProviderSettings| {
            let command = |of: &ProviderSettings| of.program.as_ref().map(|program| program.command.clone());
            (&other.name, &other.base_url, command(other))
                == (&settings.name, &settings.base_url, command(settings))
        };
        let mut names: Vec<&str> =
            configured.iter().filter(|(_, other)| same(other)).map(|(name, _)| name.as_str()).collect();
        if !configured.contains_key(&settings.name) {
            names.push(&settings.name);
        }
        Payee { settings, service: services.of(settings), names }
    }
}

impl PriceBook {
    /// What the models cost that an agent may ask: as its file says, else as the configuration does, else as a list does. With
    /// `any`, which of its provider's models it asks is known only when it runs.
    pub(in crate::compile) fn prices(
        &self,
        payee: &Payee<'_>,
        file: &IndexMap<String, Price>,
        asked: &[&str],
        any: bool,
    ) -> Prices {
        let mut models = file.clone();
        for (name, price) in &self.stated {
            let own = payee.names.iter().find_map(|provider| name.strip_prefix(provider)?.strip_prefix('/'));
            if let Some(model) = own {
                models.entry(model.to_owned()).or_insert(*price);
            }
        }
        for (name, price) in &self.stated {
            models.entry(name.clone()).or_insert(*price);
        }
        for model in asked {
            if let Some(price) = self.listed(payee, model).filter(|_| !models.contains_key(*model)) {
                models.insert((*model).to_owned(), price);
            }
        }
        if any && self.is_listed(payee) {
            let rows = self.lists().flat_map(|list| &list.rows);
            let own = rows.filter(|row| row.provider == catalog::service(&payee.settings.name));
            own.for_each(|row| {
                models.entry(row.model.clone()).or_insert(row.price);
            });
        }
        Prices { models, others: self.others(payee) }
    }

    /// What a model costs, as the configuration or a list says.
    pub(in crate::compile) fn price(&self, payee: &Payee<'_>, model: &str) -> Option<Price> {
        self.prices(payee, &IndexMap::new(), &[model], false).get(model).copied()
    }

    fn others(&self, payee: &Payee<'_>) -> Option<Price> {
        let stated = payee.names.iter().find_map(|name| self.stated.get(*name)).copied();
        let is_free = payee.service.is_some_and(|service| service.billing == Billing::Free);
        stated.or(is_free.then(Price::default))
    }

    fn is_listed(&self, payee: &Payee<'_>) -> bool {
        payee.service.is_some_and(|service| service.billing == Billing::Listed)
    }

    fn listed(&self, payee: &Payee<'_>, model: &str) -> Option<Price> {
        if !self.is_listed(payee) {
            return None;
        }
        self.lists().find_map(|list| list.find(&payee.settings.name, model)).map(|row| row.price)
    }

    /// Price lists; the first that knows a model counts.
    pub(in crate::compile) fn lists(&self) -> impl Iterator<Item = &Catalog> {
        // Not read where it does not count.
        let built_in = self.built_in.then_some(()).into_iter().map(|()| -> &Catalog { catalog::built_in() });
        self.list.as_deref().into_iter().chain(built_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, base_url: Option<&str>) -> ProviderSettings {
        ProviderSettings {
            name: name.into(),
            base_url: base_url.map(str::to_owned),
            ..ProviderSettings::default()
        }
    }

    /// As the command line knows providers: at another address nothing is listed.
    fn services() -> Services {
        Services(|provider| {
            let billing = match (provider.name.as_str(), &provider.base_url) {
                ("ollama", None) => Billing::Free,
                (_, None) => Billing::Listed,
                _ => Billing::Unknown,
            };
            Some(Service { billing, needs_model: true })
        })
    }

    fn dollars(input_per_mtok: f64) -> Price {
        Price { input_per_mtok, ..Price::default() }
    }

    fn input(book: &PriceBook, provider: &ProviderSettings, model: &str) -> Option<f64> {
        let configured = BTreeMap::from([("proxy".to_owned(), at("openai", Some("http://proxy/v1")))]);
        let payee = Payee::new(provider, services(), &configured);
        book.price(&payee, model).map(|price| price.input_per_mtok)
    }

    #[test]
    fn another_address_voids_the_list_and_a_local_model_costs_nothing() {
        let book = PriceBook { built_in: true, ..PriceBook::default() };
        assert_eq!(input(&book, &at("openai", None), "gpt-4o"), Some(2.5));
        assert_eq!(input(&book, &at("openai", Some("http://proxy/v1")), "gpt-4o"), None);
        assert_eq!(input(&book, &at("openai", None), "my-own"), None);
        assert_eq!(input(&book, &at("ollama", None), "qwen3"), Some(0.0));
        assert_eq!(input(&book, &at("acp", Some("x")), ""), None);
    }

    #[test]
    fn what_a_person_states_goes_over_the_list_nearest_first() {
        let stated = [("gpt-4o", 7.0), ("openai/gpt-4o", 8.0), ("proxy", 9.0), ("mine", 5.0)];
        let stated = stated.map(|(name, price)| (name.to_owned(), dollars(price))).into();
        let book = PriceBook { stated, built_in: true, list: None };
        let (home, proxy) = (at("openai", None), at("openai", Some("http://proxy/v1")));
        assert_eq!(input(&book, &home, "gpt-4o"), Some(8.0), "of this provider");
        assert_eq!(input(&book, &home, "mine"), Some(5.0));
        assert_eq!(input(&book, &home, "gpt-4o-mini"), Some(0.15), "the proxy's price is not its own");
        assert_eq!(input(&book, &proxy, "anything"), Some(9.0));
    }

    #[test]
    fn a_file_goes_over_everything() {
        let stated = BTreeMap::from([("openai/m".to_owned(), dollars(1.0))]);
        let book = PriceBook { stated, list: None, built_in: false };
        let (provider, configured) = (at("openai", None), BTreeMap::new());
        let payee = Payee::new(&provider, services(), &configured);
        let file = IndexMap::from([("m".to_owned(), dollars(4.0))]);
        assert_eq!(book.prices(&payee, &file, &["m"], false).get("m"), Some(&dollars(4.0)));
    }
}
