// Which files can mean a definition by its name, by the rules of its language as far as one line shows them.

/** Files that can mean a definition: every file, the files of the same folder, or only its own. */
export type Visibility = 'all' | 'folder' | 'file'

export function visibilityRules(language: string, text: string): (shape: string, name: string) => Visibility {
  if (language === 'go') {
    // A program cannot be imported.
    const head = text.slice(0, 8_000)
    const isProgram = head.includes('package main') && /^package main\s/m.test(head)
    return (_, name) => (/^[A-Z]/.test(name) && !isProgram ? 'all' : 'folder')
  }
  if (language === 'python') return (_, name) => (name.startsWith('_') ? 'folder' : 'all')
  if (language === 'rust') return (shape) => (/\bpub\b|macro_rules|trait/.test(shape) ? 'all' : 'folder')
  if (language === 'c' || language === 'objc') return (shape) => (/\bstatic\b/.test(shape) ? 'file' : 'all')
  return language === 'javascript' ? moduleVisibility(text) : () => 'all'
}

/** A script without exports has no users. */
function moduleVisibility(text: string): (shape: string, name: string) => Visibility {
  let listed: Set<string> | undefined
  return (shape, name) => {
    if (/\bexports?\b/.test(shape)) return 'all'
    listed ??= exportedNames(text)
    return listed.has(name) ? 'all' : 'file'
  }
}

/** `export default name`, `export { a, b as c }`, `module.exports = { a }`. */
function exportedNames(text: string): Set<string> {
  const names = new Set<string>()
  for (const word of ['\nexport ', '\nmodule.exports']) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const list = /^\s*(?:default\s+|=\s*|type\s+)?(?:\{([^}]{0,4000})|([\w$]+))/.exec(
        text.slice(at + word.length, at + word.length + 4_200),
      )
      for (const name of (list?.[1] ?? list?.[2] ?? '').match(/[\w$]+/g) ?? []) names.add(name)
    }
  }
  return names
}
