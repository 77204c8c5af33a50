//! Attempts to get out of the full sandbox: none succeeds.
//!
//! Each attempt is tried as an ordinary user, in the sandbox; and where an ordinary user could do it otherwise, without a sandbox
//! as well, to show that the attempt is one. When the tests run as root, they start themselves again as another user.

mod hosts;
mod overhead;
mod scene;
mod trusted;
mod users;
mod work;

use scene::{Ran, Scene};
use users::{ordinary, without_namespaces};

/// Attempts that end in another way than by an error.
const ENDED: [&str; 2] = ["memory_of_many", "processor"];

/// In the sandbox it is held, and nothing outside has changed.
#[track_caller]
fn is_held(name: &str, protected: bool) {
    let mut scene = Scene::new();
    let before = scene.look();
    let Ran { code, said, overran } = scene.run(name, Some(scene.confinement(protected)));
    match ENDED.contains(&name) {
        true => assert!(code.is_none(), "{name}: it goes on: {code:?} {said}"),
        false => assert_eq!(code, Some(1), "{name} is not held: {said}"),
    }
    assert!(name != "memory_of_many" || overran == Some("memory"), "{overran:?}");
    assert_eq!(scene.look(), before, "{name}: something outside has changed");
    scene.is_untouched(name);
}

/// Without one it can be done.
#[track_caller]
fn can_be_done(name: &str) {
    let ran = Scene::new().run(name, None);
    assert_eq!(ran.code, Some(0), "{name} fails without a sandbox too: {}", ran.said);
}

macro_rules! attempts {
    ($(can: $($can:ident)*;)? cannot: $($cannot:ident)*;) => {
        $($(#[test] fn $can() {
            ordinary(stringify!($can), || { is_held(stringify!($can), true); can_be_done(stringify!($can)); });
        })*)?
        $(#[test] fn $cannot() {
            ordinary(stringify!($cannot), || is_held(stringify!($cannot), true));
        })*
        const ALL: &[&str] = &[$($(stringify!($can),)*)? $(stringify!($cannot)),*];
    };
}

attempts! {
    can:
    write_outside overwrite_outside append_outside truncate_outside delete_outside remove_folder_outside make_folder_outside
    make_fifo_outside make_link_outside rename_out rename_in rename_folder_in exchange hard_link_in hard_link_out
    through_a_link_to_a_file through_a_link_to_a_folder through_parents through_own_root through_anothers_root
    through_anothers_folder from_the_folder_itself by_a_folders_descriptor by_a_descriptor_opened_anew nameless_outside
    nameless_inside_named_outside mode_outside mode_by_descriptor owner_outside times_outside attribute_outside race_of_links
    shared_temporary_folder
    read_state list_state write_state read_state_by_own_root read_state_by_anothers_root read_state_through_a_link
    read_state_by_a_hard_link move_state read_key read_secret_file read_key_of_a_linked_home copy_out_of_anothers_folder
    environment_of_another memory_of_another maps_of_another descriptor_of_another library_before_all_others agent_of_keys
    tcp tcp_mapped udp name_lookup listen netlink unix_by_path unix_abstract unix_datagram unix_pair_sent_elsewhere
    unix_pair_connected_anew unix_listen queue_of_calls
    signal_engine signal_victim signal_group signal_thread signal_by_descriptor signal_with_a_value attach seize read_memory
    write_memory write_memory_as_a_file take_descriptor limit_engine priority_of_another processors_of_another
    make_another_the_first_to_go
    new_user new_user_and_mounts child_as_new_user child_as_new_user_by_the_newer_call add_key page_faults
    program_without_a_file typed_keys console gain_privileges bounding_set
    fork_bomb thread_bomb memory_bomb long_file many_descriptors raise_a_limit
    hook_in_an_absent_folder hook_by_a_link hook_by_a_new_repository hook_by_a_moved_folder repository_removed settings
    settings_renamed_over settings_removed settings_by_a_hard_link settings_by_mode tasks_of_an_editor settings_of_an_agent
    work_of_a_machine_elsewhere;
    cannot:
    through_anothers_descriptor shared_memory own_terminal read_state_by_the_engines_root memory_of_the_supervisor
    inherited_descriptors tcp_over_six raw ping packet kernel_cryptography virtual_machine old_number_of_a_socket_call
    signal_supervisor signal_all seize_supervisor join_anothers_namespaces
    mount unmount remount copy_tree pivot_root change_root new_network ring_of_keys program_in_the_kernel performance_events
    another_kernel become_root program_of_root setting_of_the_kernel file_by_handle unknown_call
    memory_of_many processor stay_in_a_session stay_as_an_orphan stay_deaf stay_without_the_mark
    servers_of_an_agent shared_settings own_settings;
}

/// A machine that allows no namespaces: Landlock and seccomp hold the same.
#[test]
fn all_are_held_without_namespaces() {
    without_namespaces("all_are_held_without_namespaces", || {
        let of_names =
            ALL.iter().position(|name| *name == "hook_in_an_absent_folder").expect("it is in the list");
        let is_of_names = |at: usize, name: &str| {
            (at >= of_names && at < of_names + 13)
                || ["servers_of_an_agent", "shared_settings", "own_settings"].contains(&name)
        };
        // Emptying the bounding set takes a privilege; without one no program gains any (`gain_privileges`).
        for (at, name) in ALL.iter().enumerate().filter(|(_, name)| **name != "bounding_set") {
            is_held(name, is_of_names(at, name));
        }
    });
}

#[test]
fn there_are_enough_of_them() {
    assert!(ALL.len() >= 60, "{}", ALL.len());
}
