// Where the page is: the path and the query of the browser, as state. Links are plain anchors; a click on one stays in the page.

import { queryText, read, type Place } from './paths';

class Router {
  path = $state(location.pathname);
  search = $state(location.search);
  place: Place = $derived(read(this.path));
  query = $derived(new URLSearchParams(this.search));

  start(): void {
    addEventListener('popstate', () => this.moved());
    document.addEventListener('click', (event) => this.click(event));
  }

  /** Goes to an address of the page. */
  go(to: string, how: 'push' | 'replace' = 'push'): void {
    if (to === location.pathname + location.search) return;
    if (how === 'push') history.pushState(null, '', to);
    else history.replaceState(null, '', to);
    this.moved();
  }

  /** Changes words of the query and keeps the others. */
  set(words: Record<string, string | number | null | undefined>, how: 'push' | 'replace' = 'push'): void {
    this.go(this.path + queryText({ ...Object.fromEntries(this.query), ...words }), how);
  }

  /** The address of the same view with other words in its query. */
  with(words: Record<string, string | number | null | undefined>): string {
    return this.path + queryText({ ...Object.fromEntries(this.query), ...words });
  }

  private moved(): void {
    this.path = location.pathname;
    this.search = location.search;
  }

  private click(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/api/') || link.pathname.startsWith('/metrics')) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
