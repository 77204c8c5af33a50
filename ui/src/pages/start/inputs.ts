// Reads what a person typed as an input of a workflow. A text that is none of its kind is refused with a reason. Pure.

export function inputValue(name: string, kind: string, text: string): { value: unknown } | { refused: string } {
  switch (kind) {
    case 'number':
    case 'integer': {
      const value = Number(text);
      if (!text.trim() || !Number.isFinite(value)) return { refused: `${name} is a number` };
      if (kind === 'integer' && !Number.isInteger(value)) return { refused: `${name} is a whole number` };
      return { value };
    }
    case 'boolean':
      return { value: text === 'true' };
    case 'object':
    case 'array':
      try {
        return { value: JSON.parse(text) };
      } catch {
        return { refused: `${name} is JSON` };
      }
    default:
      return { value: text };
  }
}
