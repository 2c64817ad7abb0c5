// Reads settings by name. A value of another form is noted by its name, and never shown.
import { isSecure, parseHttpUrl } from './http-url.js'
import { withoutTrailingSlashes } from './text.js'

export type Environment = Record<string, string | undefined>

export type SettingReader = ReturnType<typeof settingReader>

export function settingReader(environment: Environment) {
  const wrong: Record<string, { form: string; next?: string | undefined }> = {}

  function text(name: string): string | undefined {
    return environment[name]?.trim() || undefined
  }

  /** Undefined when it is empty. So is what `parse` does not understand, which is noted with the form that it should have. */
  function read<T>(name: string, parse: (text: string) => T | undefined, form: string, next?: string): T | undefined {
    const given = text(name)
    if (given === undefined) return undefined
    const value = parse(given)
    if (value === undefined) wrong[name] ??= { form, next }
    return value
  }

  return {
    wrong,
    text,
    read,
    list: (name: string): string[] => wordsOf(text(name)),
    address(name: string, example?: string): string | undefined {
      const next = example && `Write it like ${example}.`
      return read(name, addressIn, 'an http(s) address without credentials', next)
    },
    /** For addresses of signing keys and of programs: over plain HTTP their content could be replaced. */
    secureAddress(name: string, example: string): string | undefined {
      const parse = (given: string) => (addressIn(given) && isSecure(new URL(given)) ? addressIn(given) : undefined)
      return read(name, parse, 'an https address without credentials', `Write it like ${example}.`)
    },
    amount: (name: string, form = 'a number from 0 on'): number | undefined =>
      read(name, amountIn, form, 'Write it with digits and a point.'),
    count: (name: string): number | undefined => read(name, countIn, 'a whole number above zero'),
    oneOf<const T extends string>(name: string, allowed: readonly T[]): T | undefined {
      const parse = (given: string) => allowed.find((one) => one === given.toLowerCase())
      return read(name, parse, `one of ${allowed.join(', ')}`, `Write ${allowed[0]}, or leave it empty.`)
    },
  }
}

/** The words of a list that commas separate. */
export function wordsOf(text = ''): string[] {
  const words = text.split(',').map((one) => one.trim())
  return words.filter((one) => one !== '')
}

const addressIn = (text: string) => (parseHttpUrl(text) ? withoutTrailingSlashes(text) : undefined)

function amountIn(text: string): number | undefined {
  const found = Number(text)
  return Number.isFinite(found) && found >= 0 ? found : undefined
}

function countIn(text: string): number | undefined {
  const found = Number(text)
  return Number.isSafeInteger(found) && found > 0 ? found : undefined
}
