// Sets the colours before the first paint: as the system has them, unless the switch of the page says otherwise.
(() => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const set = () => {
    let chosen = null;
    try {
      chosen = localStorage.getItem('hashgrove-theme');
    } catch {
      /* storage may be switched off */
    }
    document.documentElement.dataset.theme = chosen || (system.matches ? 'dark' : 'light');
    document.dispatchEvent(new Event('themechange'));
  };
  system.addEventListener('change', set);
  document.addEventListener('themechoice', set);
  set();
})();
