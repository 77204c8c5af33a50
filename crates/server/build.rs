//! The page is built into the program: it is compiled anew where a file of the page comes or goes.

fn main() {
    println!("cargo:rerun-if-changed=../../ui/dist");
}
