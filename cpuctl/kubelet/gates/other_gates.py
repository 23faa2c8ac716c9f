"""Feature gates that a kubelet accepts and cpuctl does not use otherwise.

They are listed so that a configuration that sets one is not considered wrong. Notation and sources are as in
``manager_gates``; no line here has been verified for 1.37 and later.
"""

from __future__ import annotations

from collections.abc import Mapping

OTHER_GATES = """
APIListChunking 26B 29G! 33-
APIPriorityAndFairness 26B 29G! 31-
APIResponseCompression 26B
APISelfSubjectReview 26a 27B 28G! 30-
APIServerIdentity 26B
APIServerTracing 26a 27B 34G! 37-
APIServingWithRoutine 30a
AdmissionWebhookMatchConditions 27a 28B 30G! 33-
AdvancedAuditing 27G! 28-
AggregatedDiscoveryEndpoint 26a 27B 30G! 33-
AggregatedDiscoveryRemoveBetaType 33D 35D!
AllowDNSOnlyNodeCSR 31d
AllowInsecureKubeletCertificateSigningRequests 31d
AllowOverwriteTerminationGracePeriodSeconds 32d 35d!
AllowParsingUserUIDFromCertAuth 33B
AllowServiceExternalIPs 37G
AllowServiceLBStatusOnNonLB 29d 32d! 35-
AllowUnsafeMalformedObjectDeletion 32a
AnonymousAuthConfigurableEndpoints 31a 32B 34G! 37-
AnyVolumeDataSource 26B 33G! 37-
AppArmor 26B 31G! 33-
AppArmorFields 30B 31G! 33-
AtomicFIFO 36B
AuthorizeNodeWithSelectors 31a 32B 34G! 37-
AuthorizePodWebsocketUpgradeCreatePermission 35B
AuthorizeWithSelectors 31a 32B 34G! 37-
BtreeWatchCache 32B 33G! 37-
CBORServingAndStorage 32a
CRDObservedGenerationTracking 35b 36B
CRDValidationRatcheting 28a 30B 33G!
CRIListStreaming 36a
CSIMigrationAzureFile 27G! 30-
CSIMigrationGCE 27G! 28-
CSIMigrationPortworx 26b 31B 33G! 36-
CSIMigrationRBD 26a 28d 31-
CSIMigrationvSphere 27G! 29-
CSINodeExpandSecret 26a 27B 29G! 31-
CSIServiceAccountTokenSecrets 35B 36G!
CSIStorageCapacity 27G! 28-
CSIVolumeHealth 26a
ChangeContainerStatusOnKubeletRestart 35d
ClearingNominatedNodeNameAfterBinding 34a 35B
ClientsAllowCARotation 36B
ClientsAllowCBOR 32a
ClientsAllowTLSCacheGC 36B
ClientsPreferCBOR 32a
CloudControllerManagerWatchBasedRoutesReconciliation 35a
CloudControllerManagerWebhook 27a
CloudDualStackNodeIPs 27a 29B 30G! 32-
ClusterTrustBundle 27a 33b
ClusterTrustBundleProjection 29a 33b
ComponentFlagz 32a 36B
ComponentSLIs 26a 27B 32G! 35-
ComponentStatusz 32a 36B
CompositePodGroup 37a
ConcurrentWatchObjectDecode 31b
ConsistentHTTPGetHandlers 27G 30G! 31-
ConsistentListFromCache 28a 31B 34G! 37-
ConsistentListFromCacheSkipTimeoutFallback 37a
ConstrainedImpersonation 35a 36B
ContainerCheckpoint 26a 30B
ContainerRestartRules 34a 35B
ContainerStopSignals 33a
ContextualLogging 26a 30B
CoordinatedLeaderElection 31a 33b
CronJobTimeZone 27G! 29-
CronJobsScheduledAnnotation 28B 32G! 35-
CrossNamespaceVolumeDataSource 26a
CustomResourceFieldSelectors 30a 31B 32G!
CustomResourceValidationExpressions 26B 29G! 31-
DRAAdminAccess 32a 34B 36G!
DRAConsumableCapacity 34a 36B
DRAControlPlaneController 31a 32-
DRADeviceBindingConditions 34a 36B
DRADeviceTaintRules 35a 36b 37G
DRADeviceTaints 33a 36B 37G
DRAExtendedResource 34a 36B 37G!
DRAListTypeAttributes 36a
DRAPartitionableDevices 33a 36B
DRAPrioritizedList 33a 34B 36G
DRAResourceClaimDeviceStatus 32a 33B
DRAResourceClaimGranularStatusAuthorization 36B
DRAResourcePoolStatus 36a
DRASchedulerFilterTimeout 34B
DRAWorkloadResourceClaims 36a
DeclarativeValidation 33B 36G!
DeclarativeValidationBeta 36B
DeclarativeValidationTakeover 33b 36d 37d!
DefaultHostNetworkHostPortsInPodTemplates 28d 31-
DelegateFSGroupToCSIDriver 27G! 28-
DeploymentReplicaSetTerminatingReplicas 33a 35B
DetectCacheInconsistency 34B
DevicePluginCDIDevices 28a 29B 31G! 34-
DevicePlugins 27G! 28-
DisableAcceleratorUsageMetrics 27G! 28-
DisableAllocatorDualWrite 31a 33b 34G 35G!
DisableCloudProviders 26a 29B 31G! 33-
DisableKubeletCloudCredentialProviders 26a 29B 31G! 33-
DisableNodeKubeProxyVersion 29a 31d 33D 36D!
DownwardAPIHugePages 26B 27G! 29-
DryRun 27G! 28-
EfficientWatchResumption 26G! 33-
ElasticIndexedJob 27B 31G! 34-
EndpointSliceTerminatingCondition 27G! 28-
EnvFiles 34a 35B
EtcdRangeStream 37B
EventedPLEG 26a 27b 30a
ExcludeAdmissionWebhookVirtualResources 37B
ExecProbeTimeout 26G 35G!
ExpandedDNSConfig 26B 28G! 30-
ExperimentalHostUserNamespaceDefaulting 26b 28d! 30-
ExtendWebSocketsToKubelet 36B
ExternalServiceAccountTokenSigner 32a 34B 36G!
GRPCContainerProbe 26B 27G! 29-
GangScheduling 35a 37-
GenericWorkload 35a
GitRepoVolumeDriver 33d 36d!
GracefulNodeShutdown 26B
GracefulNodeShutdownBasedOnPodPriority 26B
HPAConfigurableTolerance 33a 35B
HPAContainerMetrics 26a 27B 30G! 32-
HPAGeneration 37B
HPAOptimizedSelectorStore 37B
HPAScaleToZero 26a 37B
HonorPVReclaimPolicy 26a 31B 33G! 36-
HostnameOverride 34a 35B
HugepageAwareEviction 37B
IPTablesOwnershipCleanup 26a 27B 28G! 30-
ImageMaximumGCAge 29a 30B 35G!
ImageVolume 31a 33b 35B 36G!
ImageVolumeWithDigest 36a
InOrderInformers 33B 36G!
InOrderInformersBatchProcess 35B
InPlacePodVerticalScalingSchedulerPreemption 37a
InTreePluginAWSUnregister 26a 31-
InTreePluginAzureDiskUnregister 26a 31-
InTreePluginAzureFileUnregister 26a 31-
InTreePluginGCEUnregister 26a 31-
InTreePluginOpenStackUnregister 26a 31-
InTreePluginPortworxUnregister 26a 36-
InTreePluginRBDUnregister 26a 28d 31-
InTreePluginvSphereUnregister 26a 31-
InformerResourceVersion 30a 35G
JobBackoffLimitPerIndex 28a 29B 33G! 37-
JobManagedBy 30a 32B 35G!
JobMutableNodeSchedulingDirectives 27G! 29-
JobPodFailurePolicy 26B 31G! 33-
JobPodReplacementPolicy 28a 29B 34G! 37-
JobReadyPods 26B 29G! 31-
JobSuccessPolicy 30a 31B 33G! 37-
JobTrackingWithFinalizers 27G! 29-
KMSv1 28D 29d
KMSv2 26a 27B 29G! 32-
KMSv2KDF 28b 29G! 32-
KubeProxyDrainingTerminatingNodes 28a 30B 31G! 33-
KubeProxyIPVS 37D
KubeletCrashLoopBackOffMax 32a 35B
KubeletCredentialProviders 27G! 28-
KubeletEnsureSecretPulledImages 33a 35B
KubeletFineGrainedAuthz 32a 33B 36G!
KubeletInUserNamespace 26a
KubeletPSI 33a 34B 36G!
KubeletPodResources 26B 28G! 30-
KubeletPodResourcesDynamicResources 27a 34B 36G!
KubeletPodResourcesGetAllocatable 26B 28G! 29-
KubeletPodResourcesListUseActivePods 34D
KubeletRegistrationGetOnExistsOnly 32d
KubeletSeparateDiskGC 29a 31B
KubeletServiceAccountTokenForCredentialProviders 33a 34B
KubeletTracing 26a 27B 34G!
LegacyServiceAccountTokenCleanUp 28a 29B 30G! 32-
LegacyServiceAccountTokenNoAutoGeneration 27G! 29-
LegacyServiceAccountTokenTracking 26a 27B 28G! 30-
LegacySidecarContainers 33d 34-
ListFromCacheSnapshot 33a 34B
LoadBalancerIPMode 29a 30B 32G! 35-
LocalStorageCapacityIsolationFSQuotaMonitoring 26a 31b
LogarithmicScaleDown 26B 31G! 37-
LoggingAlphaOptions 26a
LoggingBetaOptions 26B
ManifestBasedAdmissionControlConfig 36a 37B
MatchLabelKeysInPodAffinity 29a 31B 33G!
MatchLabelKeysInPodTopologySpread 26a 27B
MatchLabelKeysInPodTopologySpreadSelectorMerge 34B
MaxUnavailableStatefulSet 26a 35b 37B
MinDomainsInPodTopologySpread 26b 27B 30G! 32-
MinimizeIPTablesRestore 26a 27B 28G! 30-
MixedProtocolLBService 27G! 28-
MultiCIDRRangeAllocator 26a 29-
MultiCIDRServiceAllocator 27a 31b 33G 34G!
MutableCSINodeAllocatableCount 33a 34b 35B 36G!
MutablePVNodeAffinity 35a
MutablePodResourcesForSuspendedJobs 35a 36B
MutableSchedulingDirectivesForSuspendedJobs 35a 36B
MutatingAdmissionPolicy 32a 34b 36G
NFTablesProxyMode 29a 31B 33G!
NetworkPolicyStatus 27a 28-
NewVolumeManagerReconstruction 27b 28B 30G! 32-
NodeControllerLeaseCircuitBreaker 37B
NodeInclusionPolicyInPodTopologySpread 26B 33G!
NodeLifecycleConditions 37a
NodeLogQuery 27a 30b 36G!
NodeOutOfServiceVolumeDetach 26B 28G! 32-
NominatedNodeNameForExpectation 34a 35B
OpenAPIEnums 26B
OpenAPIV3 27G! 29-
OpportunisticBatching 35B
OrderedNamespaceDeletion 30b 33B 34G! 37-
PDBUnhealthyPodEvictionPolicy 26a 27B 31G! 33-
PLEGOnDemandRelist 36B
PersistentVolumeClaimUnusedSinceTime 36a
PersistentVolumeLastPhaseTransitionTime 28a 29B 31G! 33-
PodAndContainerStatsFromCRI 26a
PodCertificateRequest 34a 35b
PodDeletionCost 26B
PodDisruptionConditions 26B 31G! 34-
PodGroupPreemptionPolicy 37a
PodHasNetworkCondition 27a 28-
PodHostIPs 28a 29B 30G! 32-
PodIndexLabel 28B 32G! 35-
PodLifecycleSleepAction 29a 30B 34G! 37-
PodLifecycleSleepActionAllowZero 32a 33B 34G! 37-
PodLogsQuerySplitStreams 32a
PodObservedGenerationTracking 33a 34B 35G!
PodReadyToStartContainersCondition 28a 29B
PodSchedulingReadiness 26a 27B 30G!
PodSecurity 27G! 28-
PodTopologyLabelsAdmission 33a 35B
PodsAPI 36a
PortForwardWebsockets 30a 31B
PreferSameTrafficDistribution 33a 34B 35G!
PreventStaticPodAPIReferences 34B 37-
ProbeHostPodSecurityStandards 34G! 35-
ProbeTerminationGracePeriod 26B 28G! 29-
ProcMountType 26a 31b 33B 36G!
ProxyTerminatingEndpoints 27B 28G! 30-
ReadWriteOncePod 26a 27B 29G! 31-
RecoverVolumeExpansionFailure 26a 32B 34G!
RecursiveReadOnlyMounts 30a 31B 33G!
ReduceDefaultCrashLoopBackOffDecay 33a
RelaxedDNSSearchValidation 32a 33B 34G! 37-
RelaxedEnvironmentVariableValidation 30a 32B 34G!
RelaxedServiceNameValidation 34a 36B 37G!
ReloadKubeletClientCAFile 36B
ReloadKubeletServerCertificateFile 31B
RemainingItemCount 26B 29G! 33-
RemoteRequestHeaderUID 32a 33B
RemoveSelfLink 27G! 30-
ResilientWatchCacheInitialization 31B 34G! 37-
ResourceHealthStatus 31a 36B
ResourceHealthStatusMessage 36B
RestartAllContainersOnContainerExits 35a 36B
RetroactiveDefaultStorageClass 27B 28G 29-
RetryGenerateName 30a 31B 32G! 37-
RotateKubeletServerCertificate 26B
RuntimeClassInImageCriApi 29a
SELinuxChangePolicy 32a 33B 36G!
SELinuxMount 30a 33b 37G
SELinuxMountReadWriteOncePod 26a 27b 28B 36G!
SchedulerAsyncAPICalls 34b
SchedulerAsyncPreemption 32a 33B
SchedulerPopFromBackoffQ 33B
SchedulerQueueingHints 28b 32B 34G! 37-
SeccompDefault 27G! 29-
SecurityContextDeny 27a 30-
SeparateCacheWatchRPC 28B 33d 36d!
SeparateTaintEvictionController 29B 34G!
ServerSideApply 27G! 32-
ServerSideFieldValidation 27G! 32-
ServiceAccountNodeAudienceRestriction 32b 33B
ServiceAccountTokenJTI 29a 30B 32G!
ServiceAccountTokenNodeBinding 29a 31B 33G!
ServiceAccountTokenNodeBindingValidation 29a 30B 32G!
ServiceAccountTokenPodNodeInfo 29a 30B 32G!
ServiceCIDRStatusFieldWiping 36D
ServiceIPStaticSubrange 27G! 28-
ServiceInternalTrafficPolicy 27G! 28-
ServiceNodePortStaticSubrange 27a 28B 29G! 31-
ServiceTrafficDistribution 30a 31B 33G! 36-
ShardedListAndWatch 36a
SizeBasedListCostEstimate 34B
SizeMemoryBackedVolumes 26B 32G! 35-
SkipReadOnlyValidationGCE 28a 29D 31-
StableLoadBalancerNodeSet 27B 30G! 32-
StaleControllerConsistencyDaemonSet 36B
StaleControllerConsistencyHPA 37B
StaleControllerConsistencyJob 36B
StaleControllerConsistencyReplicaSet 36B
StaleControllerConsistencyStatefulSet 36B
StatefulSetAutoDeletePVC 26a 27B 32G! 35-
StatefulSetSemanticRevisionComparison 34B
StatefulSetStartOrdinal 26a 27B 31G! 34-
StorageCapacityScoring 33a 37B
StorageNamespaceIndex 30B 33D
StorageVersionAPI 26a
StorageVersionHash 26B
StorageVersionMigrator 30a 35b 37G
StreamingCollectionEncodingToJSON 33B 34G! 37-
StreamingCollectionEncodingToProtobuf 33B 34G! 37-
StrictCostEnforcementForVAP 30b 32G! 35-
StrictCostEnforcementForWebhooks 30b 32G! 35-
StrictIPCIDRValidation 33a 36B
StructuredAuthenticationConfiguration 29a 30B 34G! 37-
StructuredAuthenticationConfigurationEgressSelector 34B
StructuredAuthenticationConfigurationJWKSMetrics 35B
StructuredAuthorizationConfiguration 29a 30B 32G! 36-
SupplementalGroupsPolicy 31a 33B 35G!
SystemdWatchdog 32B 35G!
TaintTolerationComparisonOperators 35a
TokenRequestServiceAccountUIDValidation 34B
TopologyAwareHints 26B 33G! 36-
TopologyAwareWorkloadScheduling 36a
TranslateStreamCloseWebsocketRequests 29a 30B
UnauthenticatedHTTP2DOSMitigation 28b 29B
UnknownVersionInteroperabilityProxy 28a 36B
UnlockWhileProcessingFIFO 36B
UserNamespacesHostNetworkSupport 35a
UserNamespacesPodSecurityStandards 29a 35-
UserNamespacesStatelessPodsSupport 27a 28-
UserNamespacesSupport 28a 30b 33B 36G!
ValidatingAdmissionPolicy 26a 28b 30G! 32-
VolumeAttributesClass 29a 31b 34G 36G!
VolumeCapacityPriority 26a 33-
VolumeLimitScaling 35a
WatchBookmark 27G! 33-
WatchCacheInitializationPostStartHook 31b 36B 37G!
WatchFromStorageWithoutResourceVersion 27b 33d! 36-
WatchList 27a 32B 33b 34B
WatchListClient 30b 35B
WatchListCompression 37B
WebhookRoundTripLoadBalancing 37B
WinDSR 26a 33B 34G!
WinOverlay 26B 34G!
WindowsGracefulNodeShutdown 32a 34B
WindowsHostNetwork 26a 27A 33d
WindowsHostProcessContainers 27G! 28-
WorkloadAwarePreemption 36a
WorkloadWithJob 36a
ZeroLimitedNominalConcurrencyShares 29b 30G! 32-
"""

OTHER_DEPENDENCIES: Mapping[str, tuple[str, ...]] = {
    "AuthorizeNodeWithSelectors": ("AuthorizeWithSelectors",),
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRAAdminAccess": ("DynamicResourceAllocation",),
    "DRAConsumableCapacity": ("DynamicResourceAllocation",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRADeviceTaints": ("DynamicResourceAllocation",),
    "DRAExtendedResource": ("DynamicResourceAllocation",),
    "DRAListTypeAttributes": ("DynamicResourceAllocation",),
    "DRAPartitionableDevices": ("DynamicResourceAllocation",),
    "DRAPrioritizedList": ("DynamicResourceAllocation",),
    "DRAResourceClaimGranularStatusAuthorization": (
        "DRAResourceClaimDeviceStatus",
        "DynamicResourceAllocation",
    ),
    "DRAResourcePoolStatus": ("DynamicResourceAllocation",),
    "DRASchedulerFilterTimeout": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    "DeclarativeValidationBeta": ("DeclarativeValidation",),
    "DeclarativeValidationTakeover": ("DeclarativeValidation",),
    "DisableAllocatorDualWrite": ("MultiCIDRServiceAllocator",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "GangScheduling": ("GenericWorkload",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "ImageVolumeWithDigest": ("ImageVolume",),
    "InPlacePodVerticalScalingSchedulerPreemption": ("InPlacePodVerticalScaling",),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "NodeControllerLeaseCircuitBreaker": ("AtomicFIFO",),
    "PodCertificateRequest": ("AuthorizeNodeWithSelectors",),
    "PodGroupPreemptionPolicy": ("GenericWorkload",),
    "PodLifecycleSleepActionAllowZero": ("PodLifecycleSleepAction",),
    "ProcMountType": ("UserNamespacesSupport",),
    "ResourceHealthStatus": ("DynamicResourceAllocation",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "RestartAllContainersOnContainerExits": ("ContainerRestartRules", "NodeDeclaredFeatures"),
    "ServiceAccountTokenNodeBinding": ("ServiceAccountTokenNodeBindingValidation",),
    "StaleControllerConsistencyDaemonSet": ("AtomicFIFO",),
    "StaleControllerConsistencyHPA": ("AtomicFIFO",),
    "StaleControllerConsistencyJob": ("AtomicFIFO",),
    "StaleControllerConsistencyReplicaSet": ("AtomicFIFO",),
    "StaleControllerConsistencyStatefulSet": ("AtomicFIFO",),
    "StorageVersionAPI": ("APIServerIdentity",),
    "StructuredAuthenticationConfigurationEgressSelector": ("StructuredAuthenticationConfiguration",),
    "StructuredAuthenticationConfigurationJWKSMetrics": ("StructuredAuthenticationConfiguration",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures", "UserNamespacesSupport"),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
    "WorkloadWithJob": ("GenericWorkload",),
}

LATER_DEPENDENCIES: Mapping[tuple[str, str], int] = {
    ("UserNamespacesHostNetworkSupport", "NodeDeclaredFeatures"): 36,
}
"""The first minor in which a gate depends on another, if later than dependencies in general."""
