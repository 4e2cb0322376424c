{{- define "iocause.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "iocause.selector" -}}
app.kubernetes.io/name: iocause
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "iocause.labels" -}}
{{ include "iocause.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "iocause.image" -}}
{{ required "image.repository: give the registry and name that the image was copied to" .Values.image.repository }}:{{ required "image.tag: give the version that was copied there" .Values.image.tag }}
{{- end }}

{{- /* The agent's directory is always the mounted one. */ -}}
{{- define "iocause.config" -}}
{{ toYaml (mergeOverwrite (deepCopy .Values.config) (dict "dir" "/var/lib/iocause")) }}
{{- end }}

{{- define "iocause.port" -}}
{{ regexFind "[0-9]+$" (default "127.0.0.1:9464" .Values.config.listen) }}
{{- end }}
