// Texts with computed names, t('statistic.' + name), and long ones. The others are at their
// sites.
headwise.names = {
  'axis.brighter': 'Brighter colour means more attention.',
  'axis.darker': 'Darker colour means more attention.',
  'axis.brighter_norm': 'Brighter colour means that the key adds more to the output.',
  'axis.darker_norm': 'Darker colour means that the key adds more to the output.',
  'axis.brighter_gradient': 'Blue: the pair raises F. Orange: it lowers F.',
  'axis.darker_gradient': 'Blue: the pair raises F. Orange: it lowers F.',
  'axis.sentence': 'Row = query (attends). Column = key (attended to).',
  'axis.query': 'query',
  'axis.key': 'key',

  'shell.grid': 'All heads',
  'shell.head': 'One head',
  'shell.trace': 'Steps',
  'shell.texts': 'All texts',
  'shell.scatter': 'Scatter',
  'shell.changes': 'Changes',
  'shell.through': 'Through layers',
  'shell.kind_self': 'self-attention',
  'shell.kind_cross': 'cross-attention',
  'shell.lengths': '{0} \u00d7 {1} (queries \u00d7 keys)',
  'shell.sizes': '{0} \u00d7 {1} (queries \u00d7 keys), head size {2}',
  'shell.error': 'They differ from the exact weights by at most {0}, pooled cells by at most 0.004.',
  'shell.coding_maps': 'Colours show attention weights stored in one byte each.',
  'shell.coding_tiles':
    'This page computes the attention weights from the queries, keys and log-sum-exp.',
  'shell.given': 'The statistics and the {0} largest weights of each query are exact.',
  'shell.again': 'Command that made this page:',

  'palette.ink': 'ink',
  'palette.viridis': 'viridis',
  'palette.cividis': 'cividis',

  'grid.filter_wrong': 'Cannot read "{0}". Write a statistic, < or >, and a number: {1} > 0.5',
  'grid.count': '{0} of {1} heads.',
  'grid.count_all': '{0} heads.',
  'grid.telling': 'Below each head: its strongest pattern if above 0.3, or its entropy.',
  'grid.uneven': 'Rows that do not sum to 1: {0}. Weights are shown as they were given.',

  'scatter.x': 'Horizontal axis',
  'scatter.y': 'Vertical axis',
  'scatter.about': 'Each point is a head. Its colour and number are its layer.',

  'changes.models': 'Differences: {0} minus {1}, means over texts.',
  'changes.tokens':
    'Texts that the two models divide into different tokens: {0} of {1} (first: text {2}). ' +
    'Only the statistics count them, not the similarity.',
  'changes.only': 'Heads only in {0}: {1}',
  'changes.about':
    'Similarity is the overlap of the attention maps, 1 for equal maps, with its 95% ' +
    'confidence interval. * = the 95% confidence interval of a difference excludes 0. ' +
    'Choose a head to compare the two maps.',

  'through.rollout': 'rollout',
  'through.flow': 'flow',
  'through.about_rollout':
    'How much of each input token reaches the output token through all layers, if ' +
    'attention and the residual connection pass it on in equal parts. The numbers add up ' +
    'to 1 (Abnar & Zuidema 2020).',
  'through.about_flow':
    'How much of each input token can at most reach the output token through all layers, ' +
    'if attention weights are the capacities of pipes. Each number is computed alone, so ' +
    'they do not add up to 1 (Abnar & Zuidema 2020).',
  'through.of': 'output token {0} {1}',
  'through.none': 'Hover over or tap an input token to read its number.',
  'through.sentence': 'output {0} {1}, input {2} {3}: {4}',
  'through.colours': 'Colours end at the largest number shown and follow its square root.',

  'pool.max': 'maximum',
  'pool.mean': 'mean',

  'fit.about': 'Scale the colours to the largest weight shown instead of 1.',

  'own.about': 'Colours of each picture end at its own largest number, not at the largest of all.',

  'measure.attention': 'attention weights',
  'measure.norm': 'value-weighted norms',
  'measure.gradient': 'gradient \u00d7 attention',
  'measure.about_norm':
    'Shown: attention weight \u00d7 |f|, how much each key adds to the output of the head. ' +
    'f is the key\'s value times the output projection (Kobayashi et al. 2020). The ' +
    'statistics are those of the attention weights, except the norm.',
  'measure.about_gradient':
    'Shown: attention weight \u00d7 dF/dw, how much F moves, to first order, if a query ' +
    'reads a key more. Pooled cells are means. The statistics are those of the attention ' +
    'weights, except the norm and those of gradients.',

  'gradient.token': 'F is the logit of the token that follows position {0}:',
  'gradient.length': 'F is the length of the embedding, {0}.',

  'head.name': 'Layer {0}, head {1}',
  'head.short': 'layer {0} head {1}',
  'head.tools': 'Compare, zoom, colours',
  'head.group_of': 'Reads key and value head {0}, shared by query heads {1}.',
  'head.uneven': 'Rows that do not sum to 1: {0} (farthest sum: {1}).',
  'head.query_start': 'Query 0 is at the position of key {0}.',
  'head.error': 'Colours are accurate to within {0}.',
  'head.pruned': 'This head was pruned: it has no parameters and computes no attention.',

  'mask.none': 'none',
  'mask.no_weight': 'pairs without weight in any head',

  'part.about': 'Show only attention from one sentence to the other. A is the first.',

  'special.about': 'Divides each row by the attention that its visible tokens receive.',

  'zoom.window': 'Queries {0}\u2013{1} of {2}, keys {3}\u2013{4} of {5}.',
  'zoom.pooled': 'One cell pools {0} \u00d7 {1} attention weights ({2}).',
  'zoom.pixel': 'One pixel pools {0} \u00d7 {1} attention weights ({2}).',
  'zoom.pixel_norm': 'One pixel pools {0} \u00d7 {1} norms ({2}).',
  'zoom.pixel_gradient': 'One pixel pools {0} \u00d7 {1} products ({2}).',
  'zoom.minimap_about': 'Position of the window in the whole matrix. Click to move it.',

  'matrix.role': 'matrix of attention weights',
  'matrix.role_norm': 'matrix of value-weighted norms',
  'matrix.role_gradient': 'matrix of gradient times attention',
  'matrix.label': 'Attention weights of layer {0}, head {1}',
  'matrix.label_norm': 'Value-weighted norms of layer {0}, head {1}',
  'matrix.label_gradient': 'Gradient times attention of layer {0}, head {1}',
  'matrix.help': 'Arrow keys move between cells, Enter pins a cell, plus and minus zoom.',

  'label.uneven': 'weights sum to {0}',
  'label.empty': 'fully masked',
  'label.padding': 'no query may attend to it',

  'profile.row': 'Query {0} over the keys. Dashed: mean over all queries.',
  'profile.row_norm': 'norm|Query {0} over the keys. Dashed: mean over all queries.',
  'profile.row_gradient':
    'Query {0} over the keys. Dashed: sum over all queries, on its own scale up to \u00b1{1}.',
  'profile.row_none': 'Dashed: mean attention that each key receives.',
  'profile.row_none_norm': 'Dashed: mean norm of each key.',
  'profile.row_none_gradient': 'Dashed: sum over all queries for each key, up to \u00b1{0}.',

  'sentence.label': 'Tokens, coloured by the attention of the token in view',

  'lines.about': 'One line per attention weight of at least {0}. Thicker means more.',
  'lines.about_norm': 'One line per norm of at least {0}. Thicker means more.',
  'lines.about_gradient':
    'One line per product of size {0} or more, blue if it raises F, orange if it lowers F.',

  'cell.sentence': 'query {0} {1}, key {2} {3}: {4}',
  'cell.pooled': 'queries {0}\u2013{1}, keys {2}\u2013{3}, {4}:',
  'cell.masked': 'masked',
  'cell.empty': 'fully masked',

  'legend.weight': 'attention weight',
  'legend.weight_norm': 'weight \u00d7 |f|',
  'legend.weight_gradient': 'weight \u00d7 dF/dw',
  'legend.masked': 'masked',
  'legend.empty': 'fully masked row',
  'legend.root': 'Square-root scale.',
  'legend.root_norm': 'Square-root scale.',
  'legend.root_gradient': 'Square-root scale.',
  'legend.fit': 'Colours end at the largest weight shown.',
  'legend.fit_norm': 'Colours end at the largest norm shown.',
  'legend.fit_gradient': 'Colours end at the largest product shown.',
  'legend.drawn_norm': 'Colours end at the largest norm of the texts drawn so far.',
  'legend.drawn_gradient': 'Colours end at the largest product of the texts drawn so far.',
  'legend.own': 'Each map ends at its largest weight.',
  'legend.own_norm': 'Each map ends at its largest norm.',
  'legend.own_gradient': 'Each map ends at its largest product.',

  'compare.document_text': 'Compare with text',
  'compare.document_model': 'Compare with model',
  'compare.document_variant': 'Compare with heads',
  'compare.positions': 'A and B have different tokens: the difference is position by position.',
  'compare.lengths': 'A and B have different numbers of tokens, so their difference is not shown.',

  'document.choose_text': 'Text',
  'document.choose_model': 'Model',
  'document.choose_variant': 'Heads',
  'document.previous_text': 'Previous text',
  'document.next_text': 'Next text',
  'document.previous_model': 'Previous model',
  'document.next_model': 'Next model',
  'document.previous_variant': 'Previous',
  'document.next_variant': 'Next',

  'texts.title': 'Layer {0}, head {1} in all texts',
  'texts.missing': 'This head was pruned in {0} of them.',

  'detail.none': 'Hover over or tap a query to see its statistics and top keys.',
  'detail.uneven': 'The weights of this query sum to {0}, not to 1.',
  'detail.top_all': 'Top keys (hidden tokens included)',

  'elements.title': 'Query and key by component',
  'elements.left_out':
    'This page has no q and k: its attention weights are smaller (--elements keeps q and ' +
    'k), it was made with --no-elements, or its scores are additive or have a bias.',
  'elements.weights_only': 'This page has no q and k: it was made from attention weights.',
  'elements.bars': 'One bar per component: up is positive, down is negative.',
  'elements.offset': 'key position minus query position = {0}',

  'trace.axes': 'B batch, L tokens, Lq queries, Lkv keys, H heads, D head size, E embed_dim.',
  'trace.hidden': 'hidden = output of layer {0}',
  'trace.hidden_first': 'hidden = input of this layer',

  'tables.weights': 'Attention weights, layer {0}, head {1}',
  'tables.weights_norm': 'Value-weighted norms, layer {0}, head {1}',
  'tables.weights_gradient': 'Gradient times attention, layer {0}, head {1}',
  'tables.lines': 'Pairs with an attention weight of at least {0}',
  'tables.lines_norm': 'Pairs with a norm of at least {0}',
  'tables.lines_gradient': 'Pairs with a product of size {0} or more',
  'tables.mean': 'mean over all queries',
  'tables.mean_norm': 'mean over all queries',
  'tables.mean_gradient': 'sum over all queries',

  'export.about': 'PNG and SVG save the picture; CSV and JSON save its numbers.',
  'export.digits':
    'Each number ends with its first uncertain digit, so rows may not sum to exactly 1.',
  'export.digits_norm': 'Each number ends with its first uncertain digit.',
  'export.digits_gradient': 'Each number ends with its first uncertain digit.',
  'export.no_picture': 'Tables cannot be saved as a picture. Turn off "{0}" or use CSV or JSON.',

  'search.many': 'More than {0} found. The first {0} are shown.',

  'help.colours': 'Hatched cells are masked: the query may not attend there. They are not zero.',
  'help.shortcuts': 'Use single-letter shortcuts',

  'keys.cell': 'next cell or head',
  'keys.far': 'first or last cell, ten cells up or down',
  'keys.pin': 'open the head, pin the cell',
  'keys.layer': 'previous layer, next layer',
  'keys.head': 'previous head, next head',
  'keys.zoom': 'zoom in, zoom out',
  'keys.search': 'find a token',
  'keys.grid': 'all heads',
  'keys.trace': 'steps',
  'keys.scatter': 'heads by two statistics',
  'keys.changes': 'heads by how much they changed',
  'keys.through': 'through all layers',
  'keys.document': 'next text, previous text',
  'keys.texts': 'this head in all texts',
  'keys.table': 'tables instead of pictures',
  'keys.compare': 'choose a head to compare with',
  'keys.measure': 'attention weights, value-weighted norms or gradients',
  'keys.export': 'export',
  'keys.help': 'help',
  'keys.escape': 'unpin, back to all heads',
  'keys.previous_head': 'Previous head',
  'keys.next_head': 'Next head',
  'keys.zoom_in': 'Zoom in',
  'keys.zoom_out': 'Zoom out',

  'failure.block':
    'Part of this page (block {0}) cannot be read. The file is damaged; make or copy it ' +
    'again.',
  'failure.worker':
    'The attention weights cannot be computed: the worker stopped ({0}). Dotted cells have ' +
    'no value. Reload the page, or zoom in to compute fewer cells.',
  'failure.browser':
    'This browser cannot decompress the page\'s data. Use Chrome 80, Firefox 113, Safari ' +
    '16.4 or newer.',
  'failure.page': 'This page\'s data cannot be read. The file is damaged; make or copy it again.',

  'statistic.entropy': 'entropy',
  'statistic.distance': 'distance',
  'statistic.largest': 'largest',
  'statistic.first': 'first',
  'statistic.previous': 'previous',
  'statistic.self': 'self',
  'statistic.next': 'next',
  'statistic.norm': 'norm',
  'statistic.gradient': 'gradient',
  'statistic.integrated': 'integrated',
  'statistic.integrated-by-layer': 'integrated by layer',
  'statistic.separator': 'separator',

  'about.entropy':
    'How widely a query spreads its attention, in nats: 0 for one key, ln n for n equal keys.',
  'about.distance': 'Mean distance between query and key in tokens, weighted by attention.',
  'about.largest': 'Largest attention weight of each query, averaged over the queries.',
  'about.first': 'Attention to the first token.',
  'about.previous': 'Attention to the token just before the query.',
  'about.self': 'Attention to the query\'s own token.',
  'about.next': 'Attention to the token just after the query.',
  'about.norm':
    'Upper bound on what the head adds to the output: attention weight \u00d7 |f|, summed ' +
    'over the keys.',
  'about.gradient':
    'How much F moves, to first order, if the head counts more: gradient \u00d7 attention, ' +
    'summed over all pairs; of a query, over its keys.',
  'about.integrated':
    'What the head adds to F while all heads of the model go from absent to present together.',
  'about.integrated-by-layer':
    'What the head adds to F while the heads of its layer go from absent to present together.',
  'about.separator': 'Attention to the separator tokens, such as [SEP].',
};
