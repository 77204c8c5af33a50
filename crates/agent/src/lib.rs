//! One attempt: what is asked, what comes back, and whether it fits.
