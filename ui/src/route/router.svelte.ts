// Where the page is: the path and the query of the browser, as state. Links are plain anchors; a click on one stays in the page.
//
// A page that is a file has its path and query behind the `#` of its address: a file has no other paths.

import { recorded } from '../api/recorded';
import { addressOf, queryText, read, runPath, type Place } from './paths';

class Router {
  path = $state('');
  search = $state('');
  place: Place = $derived(read(this.path));
  query = $derived(new URLSearchParams(this.search));

  constructor() {
    this.moved();
  }

  start(): void {
    addEventListener('popstate', () => this.moved());
    if (recorded) addEventListener('hashchange', () => this.moved());
    document.addEventListener('click', (event) => this.click(event));
  }

  /** Goes to an address of the page. */
  go(to: string, how: 'push' | 'replace' = 'push'): void {
    const path = to.replace(/^#/, '');
    if (path === this.path + this.search) return;
    if (how === 'push') history.pushState(null, '', addressOf(path));
    else history.replaceState(null, '', addressOf(path));
    this.moved();
  }

  /** Changes words of the query and keeps the others. */
  set(words: Record<string, string | number | null | undefined>, how: 'push' | 'replace' = 'push'): void {
    this.go(this.path + queryText({ ...Object.fromEntries(this.query), ...words }), how);
  }

  /** The address of the same view with other words in its query. */
  with(words: Record<string, string | number | null | undefined>): string {
    return addressOf(this.path + queryText({ ...Object.fromEntries(this.query), ...words }));
  }

  private moved(): void {
    if (!recorded) {
      this.path = location.pathname;
      this.search = location.search;
      return;
    }
    const here = location.hash.slice(1) || runPath(recorded.run).slice(1);
    const at = here.indexOf('?');
    this.path = at < 0 ? here : here.slice(0, at);
    this.search = at < 0 ? '' : here.slice(at);
  }

  private click(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
    if (!link || link.target || link.hasAttribute('download')) return;
    // The browser itself follows a link to another place behind `#`.
    if (recorded || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/api/') || link.pathname.startsWith('/metrics')) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
