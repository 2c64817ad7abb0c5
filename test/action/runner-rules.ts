// How GitHub's runner reads what a step prints and writes: commands at the start of a line, older commands anywhere in one, the guard that stops
// both, and the files of names and values. Written from the runner's documented rules, so that a forgery that would work there works here.

export interface ReadLog {
  /** Commands that the runner would have obeyed, in order. */
  commands: { name: string; data: string }[]
  /** What people see outside of guards, and inside of them. */
  lines: string[]
  quoted: string[]
  errors: string[]
  notices: string[]
  warnings: string[]
  masks: string[]
}

export function readLog(raw: string): ReadLog {
  const commands: ReadLog['commands'] = []
  const lines: string[] = []
  const quoted: string[] = []
  let stopped: string | undefined
  for (const line of raw.split(/\r\n|\r|\n/)) {
    const modern = /^\s*::([\w-]+)(?: [^:]*)?::(.*)$/s.exec(line)
    if (stopped !== undefined) {
      if (line.trim() === `::${stopped}::`) stopped = undefined
      else quoted.push(line)
      continue
    }
    const older = /##\[([\w-]+)(?: [^\]]*)?\](.*)$/s.exec(line)
    const [, name, data = ''] = modern ?? older ?? []
    if (name === undefined) lines.push(line)
    else if (name === 'stop-commands') stopped = data
    else commands.push({ name, data: decoded(data) })
  }
  const of = (name: string) => commands.filter((command) => command.name === name).map((command) => command.data)
  return {
    commands,
    lines: lines.filter((line) => line !== ''),
    quoted,
    errors: of('error'),
    notices: of('notice'),
    warnings: of('warning'),
    masks: of('add-mask'),
  }
}

function decoded(text: string): string {
  return text.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%')
}

/** GITHUB_OUTPUT and GITHUB_STATE: `name=value`, or a value of many lines with its own delimiter. The last of a name wins. */
export function readPairs(text: string): Record<string, string> {
  const pairs: Record<string, string> = {}
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!
    if (line === '') continue
    const long = /^([^=<]+)<<(.+)$/.exec(line)
    if (!long) {
      const [, name, value = ''] = /^([^=]+)=(.*)$/.exec(line) ?? []
      if (name === undefined) throw new Error(`The runner cannot read the line ${line}`)
      pairs[name] = value
      continue
    }
    const end = lines.indexOf(long[2]!, at + 1)
    if (end < 0) throw new Error(`The value of ${long[1]} has no end`)
    pairs[long[1]!] = lines.slice(at + 1, end).join('\n')
    at = end
  }
  return pairs
}
