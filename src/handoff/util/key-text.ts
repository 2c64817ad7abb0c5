/** Placeholders that people write for a key. These are no secrets; hiding them would damage ordinary text. */
const placeholders =
  /^(?:none|null|undefined|empty|test|testing|dummy|example|placeholder|ollama|lm-studio|not-needed|no-key|unused|secret|password|changeme|x+|-+|\*+)$/i

/** A shorter form of a key occurs in ordinary text by chance. */
export const shortestKey = 5

/** Whether a setting for a key holds one. */
export const isKey = (text: string) => text.length >= shortestKey && !placeholders.test(text)
