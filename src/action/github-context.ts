// The one thing that is taken from `@actions/github`, in a file of its own: it reads the event's file at the moment it is loaded, and throws when
// that file is broken. Whoever loads this file can catch that, and the bundler sees that the package's client is not asked for.
export { context } from '@actions/github'
