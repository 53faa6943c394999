// The page's data (docs/viewer-page.md), read once, and the ways to find a head.
{
  const page = JSON.parse(document.getElementById('page').textContent);
  const heads = [];
  for (const layer of page.layers) {
    for (const head of layer.heads) {
      heads.push({...head, layer: layer.number, id: layer.number + '.' + head.number});
    }
  }
  const byId = new Map(heads.map(head => [head.id, head]));

  function find(layer, head) {
    return byId.get(layer + '.' + head) || null;
  }

  // The head `step` places further in its layer, round the end.
  function beside(head, step) {
    const layer = heads.filter(other => other.layer === head.layer);
    const at = layer.findIndex(other => other.id === head.id);
    return layer[(at + step + layer.length) % layer.length];
  }

  // The head in the same place of the layer `step` further.
  function above(head, step) {
    const layers = page.layers.filter(layer => layer.heads.length > 0);
    const at = layers.findIndex(layer => layer.number === head.layer);
    const own = layers[at].heads.findIndex(other => other.number === head.number);
    const next = layers[(at + step + layers.length) % layers.length];
    return find(next.number, next.heads[Math.min(own, next.heads.length - 1)].number);
  }

  // Query heads that read this head's keys; one alone is no group.
  function group(head) {
    return heads.filter(other => other.layer === head.layer &&
        other.kv_head === head.kv_head);
  }

  const grouped = heads.some(head => group(head).length > 1);
  headwise.page = page;
  headwise.heads = {all: heads, find, beside, above, group, grouped};
}
