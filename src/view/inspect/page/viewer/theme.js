// Light or dark: as the system is set, until the reader chooses.
{
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  // Read once: Chromium reports no change if `matches` was read before.
  let dark = system.matches;
  let printing = false;

  function current() {
    if (printing) return 'light';
    const chosen = headwise.state.get().theme;
    return chosen || (dark ? 'dark' : 'light');
  }

  function apply() {
    document.documentElement.dataset.theme = current();
  }

  // `redraw` is called when the system's theme changes.
  function watch(redraw) {
    const changed = () => { apply(); redraw(); };
    system.addEventListener('change', event => { dark = event.matches; changed(); });
    window.addEventListener('beforeprint', () => { printing = true; changed(); });
    window.addEventListener('afterprint', () => { printing = false; changed(); });
  }

  headwise.theme = {current, apply, watch};
}
