/** Collects the schemas with a title for `components.schemas`, and refers to them. */
export interface SchemaComponents {
  /** The same schema, with a reference in the place of every schema that has a title. */
  refer(schema: unknown): unknown
  /** The collected schemas by title, in alphabetical order. */
  all(): Record<string, unknown>
}

/** Throws if two different schemas have the same title. */
export function createSchemaComponents(): SchemaComponents {
  const found = new Map<string, unknown>()

  const refer = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(refer)
    if (typeof schema !== 'object' || schema === null) return schema
    const { title, ...members } = schema as Record<string, unknown>
    // A property that is named "title" has a schema here, and no text.
    const own = typeof title === 'string' ? members : schema
    const referring = Object.fromEntries(
      Object.entries(own).map(([name, value]) => [name, refer(value)]),
    )
    if (typeof title !== 'string') return referring
    const known = found.get(title) ?? referring
    if (JSON.stringify(known) !== JSON.stringify(referring)) {
      throw new Error(`two schemas have the title ${title}`)
    }
    found.set(title, known)
    return { $ref: `#/components/schemas/${title}` }
  }
  return {
    refer,
    all: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
