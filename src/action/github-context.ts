// The only import from `@actions/github`. The package reads the event file when it is loaded, and throws when that file is invalid. The importer
// of this file can catch that, and the bundler can leave out the client of the package.
export { context } from '@actions/github'
