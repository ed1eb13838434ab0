// An MCP server with three tools: one that answers, one that wants a form filled in, one that wants an address visited.
const lines = require('node:readline').createInterface({ input: process.stdin });
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const text = (text) => ({ content: [{ type: 'text', text }] });
const schema = {
  type: 'object',
  properties: { age: { type: 'integer' }, name: { type: 'string', title: 'Name' } },
  required: ['name'],
};
const wishes = {
  form: { message: 'Who are you?', requestedSchema: schema },
  url: { mode: 'url', message: 'Sign in', url: 'https://example.org/x', elicitationId: 'e1' },
};
const waiting = new Map();

lines.on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === 'initialize') {
    const { protocolVersion } = params;
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'tiny', version: '1' } } });
  } else if (method === 'tools/list') {
    const tool = (name) => ({ name, description: `does ${name}`, inputSchema: { type: 'object', properties: {} } });
    send({ id, result: { tools: ['echo', ...Object.keys(wishes)].map(tool) } });
  } else if (method === 'tools/call' && params.name in wishes) {
    waiting.set(`wish-${id}`, id);
    send({ id: `wish-${id}`, method: 'elicitation/create', params: wishes[params.name] });
  } else if (method === 'tools/call') {
    send({ id, result: text('echo') });
  } else if (waiting.has(id)) {
    send({ id: waiting.get(id), result: text(`told ${JSON.stringify(result ?? error)}`) });
  } else if (method && id !== undefined) {
    send({ id, result: {} });
  }
});
