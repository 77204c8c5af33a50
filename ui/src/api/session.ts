// The token that opens the API: taken once from the link (`#token=…`), kept for this browser tab, removed from the address.
//
// A header and not a cookie: cookies ignore ports, and agents run servers on the same host.

const KEY = 'convoke.token';

const storage = kept();

// Tests run without a browser, and a page that is a file may be kept from storing anything.
function kept(): Storage | null {
  try {
    return typeof sessionStorage === 'undefined' ? null : sessionStorage;
  } catch {
    return null;
  }
}

let token = storage?.getItem(KEY) ?? '';

/** Takes the token out of the address, if it is there. */
export function takeTokenFromAddress(): void {
  const found = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!found?.[1]) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(history.state, '', location.pathname + location.search);
}

export function setToken(value: string): void {
  token = value.trim();
  storage?.setItem(KEY, token);
}

/** The headers that every call carries. */
export function authorization(): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {};
}
