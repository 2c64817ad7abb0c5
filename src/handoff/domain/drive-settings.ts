// The settings of what reads run directories: drive9, and what an answer is stored under.
import { type Environment, type SettingReader, settingReader } from '../util/setting-reader.js'
import { withoutTrailingSlashes } from '../util/text.js'
import { type Depth, depths } from './answers/depth.js'
import { HandoffError } from './errors.js'

export interface DriveSettings {
  apiKey: string
  server: string
  root: string
  objectHosts: string[]
}

/** What finding an answer takes. An answer's id depends on the model and the depth. */
export interface LookupSettings {
  drive: DriveSettings
  model: string
  depth?: Depth | undefined
  cloneToken?: string | undefined
}

export function parseLookupSettings(environment: Environment): LookupSettings {
  refuseMissing(environment, ['DRIVE9_API_KEY', 'LLM_MODEL'])
  return strictly(environment, (reader) => ({
    drive: readDriveSettings(reader),
    model: reader.text('LLM_MODEL') ?? '',
    depth: reader.oneOf('HANDOFF_DEPTH', depths),
    cloneToken: reader.text('HANDOFF_CLONE_TOKEN'),
  }))
}

/** The settings of drive9 alone. */
export const parseDriveSettings = (environment: Environment): DriveSettings => strictly(environment, readDriveSettings)

export function refuseMissing(environment: Environment, names: readonly string[]): void {
  const missing = names.filter((name) => !environment[name]?.trim())
  if (missing.length === 0) return
  throw new HandoffError('missing-setting', `These settings are missing: ${missing.join(', ')}.`, {
    next: 'Each is explained in .env.example.',
  })
}

export function strictly<T>(environment: Environment, read: (reader: SettingReader) => T): T {
  const reader = settingReader(environment)
  const value = read(reader)
  for (const [name, { form, next }] of Object.entries(reader.wrong))
    throw new HandoffError('invalid-input', `${name} is not ${form}.`, { next })
  return value
}

export function readDriveSettings({ text, address, read, list }: SettingReader): DriveSettings {
  const usual = 'https://api.drive9.ai'
  const form = 'a path such as /handoff, of letters, digits, dots and dashes'
  return {
    apiKey: text('DRIVE9_API_KEY') ?? '',
    server: address('DRIVE9_SERVER', usual) ?? usual,
    root: withoutTrailingSlashes(read('DRIVE9_ROOT', plainPath, form, 'Write it like /handoff.') ?? '/handoff'),
    objectHosts: list('DRIVE9_OBJECT_HOSTS'),
  }
}

const plainPath = (text: string) => (/^(\/(?!\.+(?:\/|$))[A-Za-z0-9._-]+)*\/?$/.test(text) ? text : undefined)
