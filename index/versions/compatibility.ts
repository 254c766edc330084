import { CodedError } from '../../base/errors.ts'
import { allModels, type EmbeddingModel, type Models } from '../contract.ts'
import type { Table } from '../table/lance.ts'
import { readMetadata, type TableMetadata } from '../table/metadata.ts'
import { migrateTable, SCHEMA_VERSION } from '../table/migrate.ts'

/** The one of these models that a table's vectors are of; undefined if they are of another. */
export function modelOf({ model, dimension }: TableMetadata, models: readonly EmbeddingModel[]): EmbeddingModel | undefined {
  return models.find((one) => one.id === model && one.dimension === dimension)
}

/** True if vectors of the table and of the model can be compared. */
export function isOfModel(metadata: TableMetadata, model: EmbeddingModel): boolean {
  return modelOf(metadata, [model]) !== undefined
}

/** Returns the error, with its remedy, if a table cannot be used with these models or this version; undefined if it can. The table itself is valid in each case. */
export function incompatibility(name: string, metadata: TableMetadata, models: Models): CodedError | undefined {
  const schema = unfitSchema(name, metadata)
  if (schema !== undefined) return schema
  const model = fitModel(name, metadata, models)
  return model instanceof CodedError ? model : undefined
}

/** The one of these models that a table's vectors are of; or why they are of none, where all that needs no vectors can still be done with the table. */
export function fitModel(name: string, metadata: TableMetadata, models: Models): EmbeddingModel | CodedError {
  const model = modelOf(metadata, allModels(models))
  if (model !== undefined) return model
  const here = allModels(models).map(({ id, dimension }) => `${id} (${dimension})`)
  return new CodedError(
    'index_invalid',
    `The table "${name}" holds vectors of the model ${metadata.model} (${metadata.dimension} numbers), this process embeds with ${here.join(' and ')}. ` +
      `The table is sound: its passages can be read, exported and deleted. To search it, make it anew from its own texts (\`cepe index reembed\`; it stays until the new one is verified), ` +
      `start with the model it was made with (CEPE_RETRIEVER_DIR, or beside another in CEPE_FURTHER_RETRIEVERS), or use another table (CEPE_TABLE).`,
    { field: 'model' },
  )
}

/** Why a table cannot be used by this software, whatever the model. */
export function unfitSchema(name: string, metadata: TableMetadata): CodedError | undefined {
  if (metadata.requiredVersion > SCHEMA_VERSION) {
    return new CodedError(
      'index_invalid',
      `The table "${name}" was made for newer software (schema version ${metadata.requiredVersion}, this one knows ${SCHEMA_VERSION}). The table is sound: update this software.`,
      { field: 'table' },
    )
  }
  if (metadata.schemaVersion < SCHEMA_VERSION) {
    return new CodedError(
      'index_invalid',
      `The table "${name}" has schema version ${metadata.schemaVersion}, this software needs ${SCHEMA_VERSION}: run \`cepe migrate\`, which keeps every passage.`,
      { field: 'table' },
    )
  }
  return undefined
}

/** What a table says of itself, once the steps are taken that need nobody's word (not where it is only read). */
export async function migratedMetadata(table: Table, readOnly = false): Promise<TableMetadata> {
  const metadata = await readMetadata(table)
  if (readOnly || metadata.schemaVersion >= SCHEMA_VERSION || !(await migrateTable(table, { dryRun: true })).automatic) return metadata
  await migrateTable(table)
  return readMetadata(table)
}

/** As {@link migratedMetadata}; or why the table cannot be used. */
export async function compatibleMetadata(name: string, table: Table, models: Models): Promise<TableMetadata | CodedError> {
  const metadata = await migratedMetadata(table)
  return incompatibility(name, metadata, models) ?? metadata
}
