// What the reader is looking at, and its permalink: the part of the address after
// '#'. Numbers of layers, heads and tokens are those of the page, from 0.
{
  const DEFAULTS = {
    view: 'grid',      // grid, head, trace
    layer: null, head: null,
    query: null, key: null,          // the pinned pair
    sort: '', descending: true, filter: '',
    compare: '',                     // "layer.head" of the second head
    size: 0, row: 0, column: 0,      // zoom: cells per side (0 = all), first row, column
    pool: 'max',
    fit: headwise.page.num_keys > 256,  // colours up to the largest shown, not up to 1
    hide: false, renormalise: true,  // special tokens
    table: false,
    palette: 'viridis', theme: '', lang: '',
    shortcuts: true,
  };
  const CHOICES = {
    view: ['grid', 'head', 'trace'], pool: ['max', 'mean'],
    palette: ['viridis', 'cividis', 'ink'], theme: ['', 'light', 'dark'],
    lang: ['', ...Object.keys(headwise.wordTables)],
  };
  const NUMBERS = new Set(['layer', 'head', 'query', 'key', 'size', 'row', 'column']);
  const WRITE_AFTER = 200;  // ms; browsers refuse an address that changes too often
  let state = {...DEFAULTS};
  let timer = 0;
  const listeners = [];

  function parsed(name, text) {
    if (NUMBERS.has(name)) return /^\d{1,9}$/.test(text) ? Number(text) : DEFAULTS[name];
    if (typeof DEFAULTS[name] === 'boolean') return text === '1';
    if (CHOICES[name] && !CHOICES[name].includes(text)) return DEFAULTS[name];
    return text.slice(0, 200);
  }

  function fromAddress() {
    const result = {...DEFAULTS};
    for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
      if (Object.hasOwnProperty.call(DEFAULTS, name)) result[name] = parsed(name, text);
    }
    return checked(result);
  }

  // A permalink may name a head or a token that this page does not have.
  function checked(wanted) {
    const {page, heads} = headwise;
    const result = {...wanted};
    const inside = (value, count) => value !== null && value < count ? value : null;
    if (!heads.find(result.layer, result.head)) {
      result.layer = heads.kept.length ? heads.kept[0].layer : null;
      result.head = heads.kept.length ? heads.kept[0].number : null;
      if (result.view === 'head' && wanted.layer !== null) result.view = 'grid';
    }
    if (result.view === 'head' && result.layer === null) result.view = 'grid';
    result.query = inside(result.query, page.num_queries);
    result.key = inside(result.key, page.num_keys);
    if (result.query === null || result.key === null) result.query = result.key = null;
    if (result.compare === result.layer + '.' + result.head ||
        !heads.kept.some(head => head.id === result.compare)) {
      result.compare = '';
    }
    if (!page.statistics.some(({name}) => name === result.sort)) result.sort = '';
    return result;
  }

  function address() {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
      if (value === DEFAULTS[name] || value === null) continue;
      words.set(name, value === true ? '1' : value === false ? '0' : String(value));
    }
    return '#' + words.toString();
  }

  function write(newEntry) {
    clearTimeout(timer);
    timer = 0;
    if (location.protocol === 'about:') return;  // in srcdoc, as in a notebook: no address
    const next = address();
    if (next === (location.hash || '#')) return;
    if (newEntry) {
      history.pushState(null, '', next);
    } else {
      history.replaceState(null, '', next);
    }
  }

  // Changes what `patch` names and tells the listeners which names changed.
  function set(patch) {
    const before = state;
    state = checked({...state, ...patch});
    const changed = Object.keys(state).filter(name => state[name] !== before[name]);
    if (changed.length === 0) return;
    if (changed.includes('view')) {
      write(true);
    } else if (!timer) {
      timer = setTimeout(() => write(false), WRITE_AFTER);
    }
    for (const listener of listeners) listener(new Set(changed));
  }

  function restore() {
    clearTimeout(timer);
    timer = 0;
    state = fromAddress();
    for (const listener of listeners) listener(new Set(Object.keys(state)));
  }

  function begin() {
    state = fromAddress();
    window.addEventListener('hashchange', restore);
    window.addEventListener('popstate', restore);
  }

  headwise.state = {
    begin, set, address, get: () => state, on: listener => listeners.push(listener),
    // The current head, and the one it is compared with (or null).
    head: () => headwise.heads.find(state.layer, state.head),
    compared: () => headwise.heads.kept.find(head => head.id === state.compare) || null,
  };
}
