// A document of the page (docs/viewer-page.md), one text in one model: its heads, and the
// ways to find one.
{
  // A head knows its document, and has a name that no head of another document has.
  function describe(page, number) {
    const all = [];
    for (const layer of page.layers) {
      for (const head of layer.heads) {
        const id = layer.number + '.' + head.number;
        all.push({...head, layer: layer.number, id, page, document: number,
                  unique: number + ':' + id});
      }
    }
    return all;
  }

  // The head with this number, or the nearest.
  function nearest(heads, number) {
    const far = head => Math.abs(head.number - number);
    return heads.reduce((best, head) => far(head) < far(best) ? head : best);
  }

  // `page` is the document's JSON, `number` its number in the file.
  headwise.headsOf = (page, number) => {
    const all = describe(page, number);
    // The heads that can be viewed: a pruned head has only a number.
    const kept = all.filter(head => !head.pruned);
    const byId = new Map(kept.map(head => [head.id, head]));
    const find = (layer, head) => byId.get(layer + '.' + head) || null;
    const inLayer = number => kept.filter(head => head.layer === number);

    // The head `step` places further in its layer; wraps around at the end.
    function beside(head, step) {
      const layer = inLayer(head.layer);
      const at = layer.findIndex(other => other.id === head.id);
      return layer[(at + step + layer.length) % layer.length];
    }

    // The head with this number, or the nearest, `step` layers further.
    function above(head, step) {
      const layers = page.layers.map(layer => inLayer(layer.number))
          .filter(layer => layer.length > 0);
      const at = layers.findIndex(layer => layer[0].layer === head.layer);
      return nearest(layers[(at + step + layers.length) % layers.length], head.number);
    }

    // The query heads that read this head's keys; a single one is not a group.
    const group = head => inLayer(head.layer).filter(other => other.kv_head === head.kv_head);

    const grouped = kept.some(head => group(head).length > 1);
    return {all, kept, find, beside, nearest, above, group, grouped};
  };
}
