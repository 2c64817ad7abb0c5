// Files that the bundler takes as text.
declare module '*.yml' {
  const text: string
  export default text
}
