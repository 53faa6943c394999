// The page's data (docs/viewer-page.md), read once, and the ways to find a head.
{
  function read() {
    try {
      return JSON.parse(document.getElementById('page').textContent);
    } catch (error) {
      headwise.dom.put(document.getElementById('app'), Object.values(headwise.wordTables)
          .map(table => headwise.dom.make('p', {role: 'alert'}, table['failure.page'])));
      throw error;
    }
  }

  const page = read();
  const heads = [];
  for (const layer of page.layers) {
    for (const head of layer.heads) {
      heads.push({...head, layer: layer.number, id: layer.number + '.' + head.number});
    }
  }
  // The heads that can be viewed: a pruned head has only a number.
  const kept = heads.filter(head => !head.pruned);
  const byId = new Map(kept.map(head => [head.id, head]));

  function find(layer, head) {
    return byId.get(layer + '.' + head) || null;
  }

  const inLayer = number => kept.filter(head => head.layer === number);

  // The head `step` places further in its layer; wraps around at the end.
  function beside(head, step) {
    const layer = inLayer(head.layer);
    const at = layer.findIndex(other => other.id === head.id);
    return layer[(at + step + layer.length) % layer.length];
  }

  // The head with this number, or the nearest.
  function nearest(heads, number) {
    const far = head => Math.abs(head.number - number);
    return heads.reduce((best, head) => far(head) < far(best) ? head : best);
  }

  // The head with this number, or the nearest, `step` layers further.
  function above(head, step) {
    const layers = page.layers.map(layer => inLayer(layer.number))
        .filter(layer => layer.length > 0);
    const at = layers.findIndex(layer => layer[0].layer === head.layer);
    return nearest(layers[(at + step + layers.length) % layers.length], head.number);
  }

  // The query heads that read this head's keys; a single one is not a group.
  function group(head) {
    return inLayer(head.layer).filter(other => other.kv_head === head.kv_head);
  }

  const grouped = kept.some(head => group(head).length > 1);
  headwise.page = page;
  headwise.heads = {all: heads, kept, find, beside, nearest, above, group, grouped};
}
