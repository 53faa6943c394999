// What the reader is looking at, and its permalink: the part of the address after
// '#'. Numbers of layers, heads and tokens are those of the page, from 0.
{
  const DEFAULTS = {
    view: 'grid',      // grid, scatter, changes, through, head, texts, trace
    document: 0,       // its number in the file
    layer: null, head: null,
    query: null, key: null,          // the pinned pair
    sort: '', descending: true, filter: '',
    x: '', y: '', average: false,    // statistics of the two axes; means over all documents
    compare: '',  // the second head: "layer.head", or "document:layer.head"
    size: 0, row: 0, column: 0,      // zoom: cells per side (0 = all), first row, column
    pool: 'max',
    fit: true,         // colours up to the largest shown, not up to 1
    own: false,  // of norms and gradients: the colours of each tile up to its own largest
    hide: false, renormalise: true,  // special tokens
    measure: 'attention',            // what is shown: attention, norm, gradient
    through: '', output: null, input: null,  // rollout or flow; tokens, the latter pinned
    mean: '',          // "layer.head,..": whose mean colours the sentence; '': the head's
    part: '',          // of a pair of sentences: AB shows attention from A to B
    table: false,
    palette: 'viridis', theme: '', lang: '',
    shortcuts: true,
    ...headwise.documents.opensWith(),
  };
  const CHOICES = {
    view: ['grid', 'scatter', 'changes', 'through', 'head', 'texts', 'trace'], pool: ['max', 'mean'],
    measure: ['attention', 'norm', 'gradient'],
    part: ['', ...headwise.parts.WAYS], palette: ['viridis', 'cividis', 'ink'], theme: ['', 'light', 'dark'],
    lang: ['', ...Object.keys(headwise.words.tables)],
  };
  const NUMBERS = new Set(
      ['document', 'layer', 'head', 'query', 'key', 'size', 'row', 'column', 'output',
        'input']);
  const WRITE_AFTER = 200;  // ms; browsers refuse an address that changes too often
  let state = {...DEFAULTS};
  let wished = null;  // the next state, while its documents are opened
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
    return result;
  }

  // The document and head to compare with, or null.
  function comparison({compare, document}) {
    const found = /^(?:(\d{1,9}):)?(\d+\.\d+)$/.exec(compare);
    if (!found) return null;
    const number = found[1] === undefined ? document : Number(found[1]);
    return number < headwise.documents.list.length ? {number, id: found[2]} : null;
  }

  const documentOf = ({document}) => document < headwise.documents.list.length ? document : 0;

  // The documents that are in view, the current one first.
  function documentsOf(wanted) {
    const other = comparison(wanted);
    return [...new Set([documentOf(wanted), ...(other ? [other.number] : [])])];
  }

  // The documents of which a view shows heads.
  const documentsIn = wanted => wanted.view === 'texts' ?
    [...headwise.documents.list.keys()] : documentsOf(wanted);

  // The head to compare with, or null; its document is open.
  function compared(state) {
    const other = comparison(state);
    return other && headwise.documents.heads(other.number).find(...other.id.split('.'));
  }

  function checkedComparison(state) {
    const head = compared(state);
    if (!head || (head.document === state.document &&
                  head.id === state.layer + '.' + state.head)) return '';
    return head.document === state.document ? head.id : head.document + ':' + head.id;
  }

  // A permalink may name a head or a token that this page does not have.
  function checked(wanted) {
    const {page, heads} = headwise;
    const result = {...wanted, document: documentOf(wanted)};
    const inside = (value, count) => value !== null && value < count ? value : null;
    if (!heads.find(result.layer, result.head)) {
      result.layer = heads.kept.length ? heads.kept[0].layer : null;
      result.head = heads.kept.length ? heads.kept[0].number : null;
      if (result.view === 'head' && wanted.layer !== null) result.view = 'grid';
    }
    if (result.layer === null && !['trace', 'through'].includes(result.view)) result.view = 'grid';
    const through = headwise.through.names(page);
    const missing = {texts: !headwise.documents.several, changes: !headwise.changes.any,
                     through: through.length === 0};
    if (missing[result.view]) result.view = 'grid';
    if (!through.includes(result.through)) result.through = '';
    result.output = inside(result.output, page.num_queries);
    result.input = inside(result.input, page.num_keys);
    result.query = inside(result.query, page.num_queries);
    result.key = inside(result.key, page.num_keys);
    if (result.query === null || result.key === null) result.query = result.key = null;
    result.compare = checkedComparison(result);
    for (const which of ['sort', 'x', 'y']) {
      if (!headwise.statistics.ofHeads().includes(result[which])) result[which] = '';
    }
    if (!page.token_types) result.part = '';
    if (!headwise.measure.common(documentsIn(result)).includes(result.measure)) {
      result.measure = DEFAULTS.measure;
    }
    result.average = result.average && headwise.documents.several;
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

  // Opens the documents of a wanted state, if they are not open, and then enters it, unless
  // another one is wanted by then. `entered` is told the state before.
  function enter(wanted, entered) {
    const {documents} = headwise;
    const numbers = documentsOf(wanted);
    if (documents.isOpen(numbers)) {
      const before = state;
      wished = null;
      documents.show(numbers);
      state = checked(wanted);
      entered(before);
      return undefined;
    }
    wished = wanted;
    return documents.open(numbers).then(
        () => wished === wanted && enter(wanted, entered),
        error => {
          if (wished === wanted) wished = null;
          throw error;
        });
  }

  // A head that is compared with itself in the other document of its text stays so when
  // another head is chosen: {compare}, or {}.
  function following(before, patch) {
    const other = comparison(before);
    const id = ({layer, head}) => layer + '.' + head;
    const next = {...before, ...patch};
    const follows = other && !('compare' in patch) && other.id === id(before) &&
        other.number === headwise.documents.partner(documentOf(next));
    return follows ? {compare: other.number + ':' + id(next)} : {};
  }

  // Changes what `patch` names.
  function set(patch) {
    const before = wished || state;
    enter({...before, ...patch, ...following(before, patch)}, tell);
  }

  // Tells the listeners which names changed.
  function tell(before) {
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
    enter(fromAddress(), () => {
      for (const listener of listeners) listener(new Set(Object.keys(state)));
    });
  }

  async function begin() {
    await enter(fromAddress(), () => {});
    window.addEventListener('hashchange', restore);
    window.addEventListener('popstate', restore);
  }

  headwise.state = {
    begin, set, address, comparison, get: () => state,
    wished: () => wished || state,  // while documents are opened, the state to come
    on: listener => listeners.push(listener),
    // The current head, and the one it is compared with (or null).
    head: () => headwise.heads.find(state.layer, state.head),
    compared: () => compared(state),
    documents: () => documentsIn(state),
  };
}
