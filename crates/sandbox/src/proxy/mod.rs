//! The way from a network of a command's own to listed hosts: a proxy of the engine that speaks HTTP and `CONNECT`.
//!
//! A request names a host; the name is compared whole with the list, looked up here, and each address that it leads to is judged
//! before it is connected to. So a listed name that leads into the machine's own network is refused, and what is connected to is
//! the address that was judged. What travels through a tunnel is not looked at: a service behind a listed host that forwards by
//! another name (domain fronting) is reached by listing its front.

mod address;
mod hosts;
mod request;
mod serve;

pub use hosts::Hosts;
pub use serve::Door;

/// Where the proxy listens inside the command's network.
pub const PORT: u16 = 3128;

/// The variables that lead programs to it.
pub fn variables() -> Vec<(&'static str, String)> {
    let address = format!("http://127.0.0.1:{PORT}");
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    names.into_iter().map(|name| (name, address.clone())).collect()
}
