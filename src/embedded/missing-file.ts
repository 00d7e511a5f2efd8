/** For `.catch`: a file or folder that is not there reads as undefined, every other fault stays one. */
export function undefinedIfMissing(err: unknown): undefined {
  if (hasCode(err, 'ENOENT')) return undefined
  throw err
}

export function hasCode(err: unknown, code: string): boolean {
  return err instanceof Error && 'code' in err && err.code === code
}
