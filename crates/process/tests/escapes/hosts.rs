//! A command that may reach listed hosts reaches these and no others.

use crate::scene::Scene;
use crate::users::{ordinary, without_namespaces};
use convoke_process::{Launcher, OnDrop};
use convoke_sandbox::{Confinement, Missing, Network};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// A server that answers everything with one word.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached");
        }
    });
    port
}

fn listed(scene: &Scene, hosts: &[String]) -> Confinement {
    Confinement { network: Network::Hosts(hosts.to_vec()), ..scene.confinement(true) }
}

/// What asking for a host comes to, with another one listed.
fn asked(attempt: &str, host: &str, listed_host: &str) -> (Option<i32>, String) {
    let mut scene = Scene::new();
    let confinement = listed(&scene, &[listed_host.to_owned()]);
    let ran = scene.run_with(attempt, Some(confinement), host);
    scene.is_untouched(attempt);
    (ran.code, ran.said)
}

#[test]
fn a_listed_host_is_reached() {
    ordinary("hosts::a_listed_host_is_reached", || {
        let host = format!("127.0.0.1:{}", server());
        let (code, said) = asked("ask_the_proxy", &host, &host);
        assert!(code == Some(0) && said.contains("reached"), "{said}");
        let (code, said) = asked("tunnel_through_the_proxy", &host, &host);
        assert_eq!(code, Some(0), "{said}");
    });
}

#[test]
fn a_host_that_is_not_listed_is_refused() {
    ordinary("hosts::a_host_that_is_not_listed_is_refused", || {
        let host = format!("127.0.0.1:{}", server());
        for attempt in ["ask_the_proxy", "tunnel_through_the_proxy"] {
            for other in ["example.com", "127.0.0.2", "127.0.0.1", "127.0.0.1:9"] {
                let (code, said) = asked(attempt, &host, other);
                assert!(code == Some(1) && said.contains("403"), "{attempt} {other}: {said}");
            }
        }
    });
}

/// Only the address itself lets a command into the machine's own network, no name that leads there.
#[test]
fn a_listed_name_that_leads_to_the_machine_is_refused() {
    ordinary("hosts::a_listed_name_that_leads_to_the_machine_is_refused", || {
        let host = format!("localhost:{}", server());
        let (code, said) = asked("ask_the_proxy", &host, &host);
        assert!(code == Some(1) && said.contains("403") && said.contains("not public"), "{said}");
    });
}

#[test]
fn there_is_no_way_beside_the_proxy() {
    ordinary("hosts::there_is_no_way_beside_the_proxy", || {
        for attempt in [
            "tcp",
            "tcp_mapped",
            "udp",
            "name_lookup",
            "netlink",
            "unix_by_path",
            "unix_abstract",
            "raw",
            "ping",
        ] {
            let (code, said) = asked(attempt, "", "example.com");
            assert_eq!(code, Some(1), "{attempt}: {said}");
        }
    });
}

#[test]
fn listed_hosts_are_refused_where_there_is_no_network_of_ones_own() {
    without_namespaces("hosts::listed_hosts_are_refused_where_there_is_no_network_of_ones_own", || {
        let scene = Scene::new();
        let confinement = listed(&scene, &["example.com".to_owned()]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let launcher = Launcher::new("test", OnDrop::Kill);
        let command = std::process::Command::new("true");
        let start = launcher.start_confined(command, &confinement, None, std::future::pending(), |_| {});
        let error = runtime.block_on(start).err().expect("it is refused");
        let missing = error.get_ref().and_then(|inner| inner.downcast_ref::<Missing>());
        assert!(matches!(missing, Some(Missing::Namespaces(_))), "{error}");
    });
}
