// Light or dark: the system's choice unless a person chose here. `stamp` changes with it, for what is drawn on a canvas.

type Choice = 'system' | 'light' | 'dark';
const KEY = 'convoke.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

// A page that is a file may be kept from storing anything: then the choice lasts as long as the page.
function kept(): Choice | null {
  try {
    return localStorage.getItem(KEY) as Choice | null;
  } catch {
    return null;
  }
}

function keep(choice: Choice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // It is not kept.
  }
}

class Theme {
  choice: Choice = $state(kept() ?? 'system');
  stamp = $state(0);

  start(): void {
    dark.addEventListener('change', () => this.apply());
    this.apply();
  }

  /** The next of system, light, dark. */
  turn(): void {
    this.choice = this.choice === 'system' ? 'light' : this.choice === 'light' ? 'dark' : 'system';
    keep(this.choice);
    this.apply();
  }

  private apply(): void {
    const isDark = this.choice === 'dark' || (this.choice === 'system' && dark.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    this.stamp++;
  }
}

export const theme = new Theme();

/** A colour of the current theme, for a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
