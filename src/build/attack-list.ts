// The table of attacks and faults in docs/guarantees.md: what succeeded once, and the test that fails when it succeeds again.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What succeeded; the file below `test`, without its ending; how the name of a test in it begins. */
type Row = [attack: string, file: string, test: string]

const groups: [title: string, rows: Row[]][] = [
  [
    'A taken-over sandbox',
    [
      [
        'Sandbox A writes an answer into the run that it stores',
        'guarantees/taken-over-sandbox',
        'Sandbox A cannot put a file beside what it reported',
      ],
      [
        'A token of an attempt opens more than its stage',
        'handoff/store/run-access',
        'an attempt gets a token for its stage alone',
      ],
      [
        'Root in a sandbox follows links that the untrusted process made',
        'handoff/sandbox/program/untrusted-files',
        'with a link that leads out leads nowhere',
      ],
      [
        'The configuration of a stored clone runs a program in each Sandbox B',
        'handoff/sandbox/program/survey/git-objects',
        'git runs no program that the configuration',
      ],
      [
        'The git host redirects a clone, and its credential, elsewhere',
        'handoff/sandbox/program/git-clone',
        'a redirect of the git host is not followed',
      ],
      [
        'The clone credential works until the sandbox ends',
        'guarantees/sandbox-isolation',
        'Sandbox A reaches drive9, and the git host until',
      ],
      [
        'A record of a sandbox is cut within a character',
        'handoff/sandbox/program/forward-records',
        'lines may come in any pieces',
      ],
    ],
  ],
  [
    'A hostile repository',
    [
      [
        'A file name or a line of a dot-file stops each survey',
        'handoff/sandbox/program/survey/path-rules',
        "describe('time'",
      ],
      [
        'A few objects name billions of files',
        'handoff/sandbox/program/survey/git-objects',
        'a few objects that name billions of files',
      ],
      [
        'A credential in a file reaches the model',
        'handoff/domain/secrets/credential-patterns',
        '%s is found wherever it stands',
      ],
      [
        'A moved file with a hostile name is written into a kept sentence',
        'handoff/domain/summary/keep-statements',
        "describe('a hostile name'",
      ],
      ['Quoted text in the log is an error, or a command of the runner', 'action/pieces', 'shows a quotation as text'],
      ['A problem matcher of an earlier step reads a notice', 'action/pieces', 'a notice of the work'],
    ],
  ],
  [
    'A hostile or endless model',
    [
      [
        'A text without an end blocks a function',
        'handoff/clients/openai/client',
        'without an end is read up to 64 kB',
      ],
      ['A long run of one sign makes a parser quadratic', 'handoff/domain/markdown/linear.large', 'mostGrowth'],
      [
        'A link leads to another repository of the host',
        'handoff/domain/markdown/allowed-links',
        'test.each<[string, string]>([',
      ],
      [
        'What the model wrote names another run, or hides a mark',
        'handoff/workflows/pull-request/mark-comments',
        'what the model wrote cannot name another run',
      ],
      [
        'Text in a comment is read as the name of its answer',
        'handoff/workflows/pull-request/mark-comments',
        'the marker names the answer',
      ],
    ],
  ],
  [
    'A stranger, or a greedy caller',
    [
      ['Refused requests leave timers and memory', 'guarantees/strangers', 'refused requests leave no file'],
      [
        'A request that is over keeps its time limit',
        'service/deadline.faults',
        'of requests that are over no time limit is left',
      ],
      [
        'Comments without permission fill the drive',
        'guarantees/strangers',
        'comments of an account without permission',
      ],
      ['A crowd exhausts the descriptors of a process', 'guarantees/strangers', 'a crowd is answered'],
      ['A job of any repository on GitHub is a caller', 'service/auth', 'a job of a repository that is not listed'],
      ['A path inside a run directory passes for a repository', 'handoff/domain/run', 'a path inside a run directory'],
      ['A GET starts a sandbox and writes a pointer', 'service/runs', 'a look writes nothing and starts no sandbox'],
      ['A page of runs lists everything', 'handoff/workflows/browse', 'a page of runs reads its own pointers'],
      ["A thread's words stand in the prompt of another caller", 'service/auth', 'a thread belongs to its caller'],
      ['A caller that may only ask has the App write', 'service/auth', 'a caller without the right to comment'],
      ['One caller takes the whole queue', 'handoff/workflows/answer/admission', 'while one caller floods'],
      ['A caller that left still reserves', 'handoff/store/shared-state', 'a caller that has left reserves nothing'],
      ['A daily budget counts twice around midnight', 'handoff/store/shared-state', 'around midnight two processes'],
      ['`health?deep=0` looks deep', 'service/auth', 'health looks deep only where it is asked to'],
      [
        'A page of an origin that begins like an allowed one reads answers',
        'service/exchange',
        'a page of %s may read the answer',
      ],
    ],
  ],
  [
    'Lost, late and repeated requests',
    [
      [
        'A repeated deletion removes a new pointer',
        'guarantees/run-protocol',
        'the explorer finds the run that is lost',
      ],
      [
        'A tombstone of another process is removed',
        'handoff/store/delete-run',
        'a tombstone that another process replaced stays',
      ],
      [
        'One unreadable budget refuses each question',
        'handoff/store/shared-state',
        'a budget that cannot be read begins again',
      ],
      ['A load that failed once fails for ever', 'handoff/util/lazy', 'a load that failed is forgotten'],
      [
        'Concurrent callers buy several tokens of the App',
        'handoff/clients/github/client',
        'concurrent callers share one token',
      ],
      [
        "GitHub's keys are dropped when they cannot be fetched anew",
        'handoff/clients/github/verify-oidc',
        'while keys cannot be fetched',
      ],
      ['A reply without an end is read', 'handoff/util/http', 'a reply without an end is an error'],
      [
        'A sign-out that was not answered is reported as done',
        'web/sign-in.variants',
        'a person whose sign-out was not answered',
      ],
      [
        'Another spacing of JSON is another question',
        'service/jobs.faults',
        'an Idempotency-Key names one fresh question',
      ],
    ],
  ],
  [
    'Keys and permissions of the Action',
    [
      [
        'The token of the job follows a promise to another origin',
        'action/endpoint-refusals',
        'a promise at another origin is not fetched',
      ],
      ['The token of the job follows a redirection', 'action/endpoint-refusals', 'a redirection is not followed'],
      ['A code of the service has no words in the Action', 'action/endpoint-refusals', 'the code %s of the service'],
      [
        'A run that recorded no repository is used for another one',
        'handoff/workflows/which-run',
        'that recorded none, with a number',
      ],
      [
        'An answer of another model is reused',
        'handoff/workflows/answer/answer-question',
        'nearly the same words to another model',
      ],
      [
        'The job that summarises may write to GitHub',
        'action/workflows',
        'the quick start lets no job write to GitHub',
      ],
      [
        'The masks and the redactor know different keys',
        'action/pieces',
        'cover a secret in the forms it might be printed in',
      ],
      [
        'Two secrets of webhooks are redacted as one',
        'handoff/domain/settings',
        'each of two secrets of webhooks is one by itself',
      ],
      ['Any tag is released', 'action/workflows', 'only people of the environment release'],
      ['HSTS covers other hosts of the operator', 'service/platform-settings', 'max-age=63072000'],
      ['A test passes whatever the product does', 'test-rules', 'no expectation is in a branch'],
    ],
  ],
]

/** The table as Markdown. Fails when a test that it names is not there. */
export async function attackList(root: string): Promise<string> {
  const parts = groups.map(async ([title, rows]) => {
    const lines = await Promise.all(rows.map((row) => line(root, row)))
    return [`| ${title} | refused, as shown by |`, '| --- | --- |', ...lines].join('\n')
  })
  return (await Promise.all(parts)).join('\n\n')
}

async function line(root: string, [attack, file, test]: Row): Promise<string> {
  const path = `test/${file}.test.ts`
  if (!(await readFile(join(root, path), 'utf8')).includes(test))
    throw new Error(`attack-list.ts names a test of ${path} that is not there: ${test}`)
  return `| ${attack} | [${file}](../${path}) |`
}
