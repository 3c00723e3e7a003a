/** Definitions of tools in the formats of providers. */

/** @typedef {import('../component/interfaces/paddock-files-tools.js').Tool} Described */
/** @typedef {import('../component/interfaces/paddock-files-tools.js').Annotations} Annotations */

/**
 * A tool with its schemas.
 *
 * @typedef {object} Tool
 * @property {string} name The name that `call` takes.
 * @property {string} description Description for the model.
 * @property {any} inputSchema JSON Schema (2020-12) of the arguments, an object.
 * @property {any} outputSchema JSON Schema (2020-12) of the result, an object.
 * @property {Annotations} annotations Hints on the behaviour of the tool.
 */

/** @typedef {{name: string, title: string, description: string, inputSchema: any, outputSchema: any, annotations: {title: string, readOnlyHint: boolean, destructiveHint: boolean, idempotentHint: boolean, openWorldHint: boolean}}} McpTool */
/** @typedef {{type: 'function', function: {name: string, description: string, parameters: any}}} OpenaiTool */
/** @typedef {{name: string, description: string, input_schema: any}} AnthropicTool */
/** @typedef {{functionDeclarations: {name: string, description: string, parametersJsonSchema: any}[]}} GeminiTool */

/** @typedef {{plain: Tool[], mcp: McpTool[], openai: OpenaiTool[], anthropic: AnthropicTool[], gemini: GeminiTool[]}} Shapes */
/** @typedef {keyof Shapes} Format */
/**
 * @template {Format} F
 * @typedef {Shapes[F]} Shaped
 */

/** @type {{[F in Format]: (tools: Tool[]) => Shapes[F]}} */
const FORMATS = {
  plain: (tools) => tools,
  mcp: (tools) => tools.map(mcp),
  openai: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: { name: plainName(name), description, parameters: inputSchema },
    })),
  anthropic: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({ name: plainName(name), description, input_schema: inputSchema })),
  gemini: (tools) => [
    {
      functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
        name: plainName(name),
        description,
        parametersJsonSchema: inputSchema,
      })),
    },
  ],
};

/**
 * @template {Format} F
 * @param {Described[]} described
 * @param {F} format
 * @returns {Shapes[F]}
 */
export function shaped(described, format) {
  const tools = described.map((tool) => ({
    ...tool,
    inputSchema: JSON.parse(tool.inputSchema),
    outputSchema: JSON.parse(tool.outputSchema),
  }));
  const shape = FORMATS[format];
  if (!shape) throw new TypeError(`there is no format \`${format}\`; there are ${Object.keys(FORMATS).join(', ')}`);
  return shape(tools);
}

/** @param {Tool} tool @returns {McpTool} */
function mcp({ name, description, inputSchema, outputSchema, annotations }) {
  const { title, readOnly, destructive, idempotent } = annotations;
  const hints = { readOnlyHint: readOnly, destructiveHint: destructive, idempotentHint: idempotent, openWorldHint: false };
  return { name, title, description, inputSchema, outputSchema, annotations: { title, ...hints } };
}

/** @param {string} name The name of a tool, for providers that allow only letters, digits, `_` and `-`. Calls accept the converted name too. */
export function plainName(name) {
  return name.replaceAll('.', '_');
}
