// Whether a question names what it asks about as the code does: an identifier, a file, a message between quotes, a trace.

/** `fooBar`, `foo_bar`, `foo.bar()`, `Foo::bar`, `--flag`, HTTPServer. */
const identifier =
  /[a-z\d][A-Z]|[A-Z][A-Z][a-z]|\w_\w|\w\(\)|\w::\w|\w\.[a-z]{1,5}\b(?!\.\s)|(?:^|\s)--[a-z]|\w\/[\w-]{1,80}\.\w/
const quotation = /`[^`\n]{2,200}`|"[^"\n]{8,200}"|“[^”\n]{8,200}”/

export function namesCode(question: string): boolean {
  const text = question.slice(0, 8_000)
  return identifier.test(text) || quotation.test(text)
}
