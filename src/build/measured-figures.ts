// The figures of the documents that were measured: each stands here alone, with its date and its source, and the documents are generated from it.

/** When a figure was measured or looked up, and where it comes from. */
interface Source {
  /** The day, as `2026-11-19`. */
  date: string
  source: string
}

/** hono at commit 28a9c12, 4.7 MB. */
const exampleRepository = { name: 'hono', url: 'https://github.com/honojs/hono', files: 486 }

/** Tokens that the demo counted. The stand-in thinks before each reply, as OpenAI's small reasoning models do. */
export const demoTokens = {
  summary: { inputTokens: 210_327, outputTokens: 58_238 },
  answer: { inputTokens: 12_839, outputTokens: 1_852 },
  thinking: 1_500,
  date: '2026-11-19',
  source: '`npm run demo -- <repository> "<question>" --json` with LLM_MODEL=offline/gpt-6-luna',
} satisfies Source & Record<string, unknown>

const sandboxPrice = {
  dollarsAnHour: 0.13,
  processors: 2,
  gigabytes: 2,
  date: '2026-11-19',
  source: 'https://e2b.dev/pricing',
} satisfies Source & Record<string, unknown>

/** What the real drive9 needs to store and to read the example repository. */
export const storing = {
  tar: { storeSeconds: 1.3, readSeconds: 0.6 },
  plain: { storeSeconds: 42 },
  roundTripMs: 50,
  drive9: 'b484fcc2',
  processors: 2,
  date: '2026-11-19',
  source: "drive9's own server, program and FUSE mount",
} satisfies Source & Record<string, unknown>

/** Files that a free drive9 account has room for. */
const freeAccount = { files: 500, date: '2026-11-18', source: 'the plans of drive9' } satisfies Source &
  Record<string, unknown>

export const measurements: Readonly<Record<string, Source>> = { demoTokens, sandboxPrice, storing, freeAccount }

const months = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const month = ({ date }: Source) => months.format(new Date(date))
const thousands = new Intl.NumberFormat('en')
/** To two digits: the next measurement differs in the third. */
const rounded = (tokens: number) => thousands.format(Number(tokens.toPrecision(2)))

/** What the table of costs in README.md rests on. */
export function costText(): string {
  const { summary, answer, thinking } = demoTokens
  const { dollarsAnHour, processors, gigabytes } = sandboxPrice
  return `These are estimates in US dollars for [${exampleRepository.name}](${exampleRepository.url}), ${exampleRepository.files} files. The tokens were counted in the demo: ${rounded(summary.inputTokens)} in and
${rounded(summary.outputTokens)} out for the summary, ${rounded(answer.inputTokens)} in and ${rounded(answer.outputTokens)} out for the answer. The model there was a stand-in that thinks ${thousands.format(thinking)} tokens before each reply,
so your model will differ. A sandbox with ${processors} CPUs and ${gigabytes} GB costs about $${dollarsAnHour} an hour (E2B, ${month(sandboxPrice)}).`
}

/** The two forms of a stored commit, in docs/format.md. */
export function storingTable(): string {
  const { tar, plain, roundTripMs, drive9, processors } = storing
  return `| form | ${exampleRepository.files} files of ${exampleRepository.name} |
| --- | --- |
| \`tar\` | ${tar.storeSeconds} s to store with the tables, ${tar.readSeconds} s to read |
| \`plain\` | ${plain.storeSeconds} s to store; a free account has room for ${freeAccount.files} files |

Measured in ${month(storing)} with ${storing.source} (commit \`${drive9}\`) on ${processors} processors without TLS, with ${roundTripMs} ms added to each round trip.`
}
