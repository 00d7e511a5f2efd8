/** One parameter of a fault. */
export interface Parameter<T> {
  readonly initial: T
  /** What it takes, as it stands in a message after "must be". */
  readonly takes: string
  /** Undefined for what it does not take. */
  readonly read: (given: unknown) => T | undefined
}

export type ParameterTable = Readonly<Record<string, Parameter<unknown>>>

export type Values<P extends ParameterTable> = {
  readonly [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never
}

export interface IntegerBounds {
  readonly min: number
  readonly max: number
  readonly initial: number
}

export function integer({ min, max, initial }: IntegerBounds): Parameter<number> {
  return {
    initial,
    takes: `a whole number from ${min} to ${max}`,
    read: (given) =>
      typeof given === 'number' && Number.isInteger(given) && given >= min && given <= max
        ? given
        : undefined,
  }
}

/** One of some texts; the first unless another is given. */
export function oneOf<const T extends string>(...choices: readonly [T, ...T[]]): Parameter<T> {
  return {
    initial: choices[0],
    takes: `one of ${choices.join(', ')}`,
    read: (given) => choices.find((choice) => choice === given),
  }
}

export function oneOfNumbers<const T extends number>(
  ...choices: readonly [T, ...T[]]
): Parameter<T> {
  return {
    initial: choices[0],
    takes: `one of ${choices.join(', ')}`,
    read: (given) => choices.find((choice) => choice === given),
  }
}

export function httpOrigin(initial: string): Parameter<string> {
  return {
    initial,
    takes: 'an http or https URL',
    read: (given) => (typeof given === 'string' && isHttpUrl(given) ? given : undefined),
  }
}

/** Fit for a header. */
export function mediaType(initial: string): Parameter<string> {
  return {
    initial,
    takes: 'a media type such as text/plain',
    read: (given) =>
      typeof given === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(given) ? given : undefined,
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
