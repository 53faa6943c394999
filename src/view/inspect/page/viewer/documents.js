// The documents of the file (docs/viewer-page.md): one on most pages, or several texts or
// models, of which only those in view are held. headwise.page and headwise.heads are the
// current document and its heads; headwise.file is what all documents share.
{
  function read() {
    try {
      return JSON.parse(document.getElementById('page').textContent);
    } catch (error) {
      headwise.dom.put(document.getElementById('app'), headwise.words.inEach('failure.page')
          .map(text => headwise.dom.make('p', {role: 'alert'}, text)));
      throw error;
    }
  }

  const file = read();
  const several = file.version === 2;
  // What is known of each without opening it.
  const list = several ? file.documents : [summaryOf(file)];
  const opened = new Map();   // number -> {page, heads}
  const opening = new Map();  // number -> Promise
  let current = null;

  // A file of one document has no summary of it.
  function summaryOf(page) {
    const heads = page.layers.flatMap(layer => layer.heads.filter(head => !head.pruned)
        .map(head => [layer.number, head]));
    return {
      title: page.title, text: page.text, model: page.model, variant: null,
      kind: page.kind, num_queries: page.num_queries, num_keys: page.num_keys,
      same_tokens: 0, measures: page.measures,
      heads: heads.map(([layer, head]) => [layer, head.number]),
      pooled: Object.fromEntries(page.statistics.map(
          ({name}) => [name, heads.map(([, head]) => head.pooled[name])])),
    };
  }

  const describe = (page, number) => ({page, heads: headwise.headsOf(page, number)});

  if (!several) {
    opened.set(0, describe(file, 0));
    current = opened.get(0);
  }

  async function inflate(number) {
    const {blocks, failure} = headwise;
    const bytes = await blocks.inflate(list[number].block);
    try {
      return describe(JSON.parse(new TextDecoder().decode(bytes)), number);
    } catch (error) {
      throw new failure.Failure('failure.block', list[number].block);
    }
  }

  // -> Promise of {page, heads}. The document is not kept.
  const visit = async number => opened.get(number) || inflate(number);

  // -> Promise, when these documents are open.
  function open(numbers) {
    return Promise.all(numbers.filter(number => !opened.has(number)).map(number => {
      if (!opening.has(number)) {
        opening.set(number, inflate(number).then(made => opened.set(number, made))
            .finally(() => opening.delete(number)));
      }
      return opening.get(number);
    }));
  }

  // Makes the first of these documents, which are open, the current one, and releases all
  // others with what was computed from them.
  function show(numbers) {
    current = opened.get(numbers[0]);
    const gone = [...opened.keys()].filter(number => several && !numbers.includes(number));
    if (gone.length === 0) return;
    for (const number of gone) opened.delete(number);
    headwise.blocks.clear();
    headwise.tiles.clear();
    headwise.exact.clear();
  }

  const sameSizes = (a, b) => a.num_queries === b.num_queries && a.num_keys === b.num_keys;

  // Whether documents 2n and 2n + 1 are one text: in two models, or with all heads and
  // without some.
  const paired = several && list.length % 2 === 0 && list.every((one, number) => {
    const other = list[number - number % 2];
    return one === other || one.text === other.text &&
        (one.model !== other.model || one.variant !== other.variant);
  });

  // The document that has the same text; null unless the documents are pairs.
  const partner = number => paired ? number + 1 - 2 * (number % 2) : null;

  // The name of the head of document `number` that is most like this one: in the same
  // layer with the same number, or else the first.
  function nearest(number, {layer, number: head}) {
    const {heads} = list[number];
    const found = heads.find(one => one[0] === layer && one[1] === head) || heads[0];
    return found ? number + ':' + found.join('.') : '';
  }

  // The head that changed most from document 0 to document 1: the first of the changes or, on
  // a page that has none, the one whose entropy did.
  function mostChanged() {
    const {changes} = file;
    if (changes && changes.length > 0) return changes[0];
    const [a, b] = list.map(({pooled}) => pooled.entropy);
    const change = n => Math.abs(a[n] - b[n]);
    const head = list[0].heads.reduce((best, one, n) => change(n) > best[1] ?
        [one, change(n)] : best, [list[0].heads[0], 0])[0];
    return {head, other: head};
  }

  // Where the page opens, if not in all heads: in the list of changes, or with a text with all
  // heads and without some side by side.
  function opensWith() {
    const [a, b] = list;
    if (!b || a.variant === b.variant || a.model !== b.model || a.text !== b.text ||
        a.heads.length === 0 || a.heads.join() !== b.heads.join()) return file.changes ? {view: 'changes'} : {};
    const {head: [layer, head], other} = mostChanged();
    return {view: 'head', layer, head, compare: '1:' + other.join('.')};
  }

  Object.defineProperties(headwise, {
    page: {get: () => current && current.page},
    heads: {get: () => current && current.heads},
  });
  headwise.file = file;
  headwise.documents = {
    list, several, open, show, visit, sameSizes, partner, nearest, opensWith,
    isOpen: numbers => numbers.every(number => opened.has(number)),
    // Those that are held now.
    held: () => [...opened.keys()],
    heads: number => opened.get(number).heads,
  };
}
