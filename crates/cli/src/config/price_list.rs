//! The person's own price list: `prices.tsv` beside the user's configuration file. Its rows go over the built-in table.

use super::ConfigError;
use convoke_model::catalog::Catalog;
use etcetera::BaseStrategy;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Where it is, whether it exists or not; `None` where there is no home folder.
pub fn path() -> Option<PathBuf> {
    let named = crate::env::get_filled(crate::env::CONFIG).map(PathBuf::from);
    let folder = match named {
        Some(file) => file.parent()?.to_owned(),
        None => etcetera::base_strategy::Xdg::new().ok()?.config_dir().join("convoke"),
    };
    Some(folder.join("prices.tsv"))
}

/// Reads it, if it is there. One that cannot be read is refused: budgets would be kept by other prices than the person means.
pub(super) fn read() -> Result<Option<Catalog>, ConfigError> {
    let Some(path) = path() else { return Ok(None) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => {
            return Err(ConfigError::PriceList { path, fault: format!("it cannot be read: {error}") });
        }
    };
    match Catalog::parse(&text) {
        Ok(list) => Ok(Some(list)),
        Err(faults) => Err(ConfigError::PriceList { path, fault: faults[0].to_string() }),
    }
}
