"""The public interface of the controller library: everything else in this package is private."""

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import ListerWatcher, WatchScope
from controller.runtime.cache.store import IndexFunction
from controller.runtime.cache.subscription import ChangeHandler, ChangeNotification
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client, Preconditions
from controller.runtime.client.connection_monitor import ClusterUnavailableError
from controller.runtime.client.decoding import DeleteResult, ObjectList, UndecodableObject
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object, ObjectMeta, OwnerReference
from controller.runtime.client.ownership import controller_reference, is_controlled_by
from controller.runtime.clock import Clock, SystemClock, TimerClock
from controller.runtime.digest import json_digest
from controller.runtime.errors import (
    AlreadyExistsError,
    CannotListenError,
    ConflictError,
    ConnectRefusedError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    KubeconfigError,
    KubeError,
    NotFoundError,
    ServerError,
    StatusError,
    ThrottledError,
    UndecodableError,
    UnreachableError,
)
from controller.runtime.events.event import object_reference, truncate
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import ObjectReference
from controller.runtime.key import ObjectKey
from controller.runtime.leader.elector import LeaderElector
from controller.runtime.leader.factory import LeaderElection, election_from_config
from controller.runtime.leader.rules import (
    ElectionSettings,
    ElectionSettingsError,
    LeadershipLostError,
)
from controller.runtime.loop.bounded import first_in_order, run_bounded
from controller.runtime.loop.control_loop import ControlLoop, LoopOptions
from controller.runtime.loop.enqueue import (
    MapFunction,
    Trigger,
    mapped_keys,
    own_key,
    owner_keys,
)
from controller.runtime.loop.reconcile import (
    ReconcileError,
    Reconciler,
    Result,
    TerminalError,
    reconcile_id,
)
from controller.runtime.process.controller_builder import (
    ControllerBuilder,
    IncompleteControllerError,
)
from controller.runtime.process.lifecycle import (
    LeaderRunnable,
    Runnable,
    StopTimeoutError,
    SyncedRunnable,
)
from controller.runtime.process.manager import RUN_ERRORS, Manager, ManagerOptions
from controller.runtime.process.process import first_error, install_stop_signals, new_registry
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.ratelimit import (
    ExponentialBackoff,
    MaxOfRateLimiter,
    RateLimiter,
    TokenBucket,
    default_rate_limiter,
)
from controller.runtime.queue.workqueue import WorkQueue
from controller.runtime.subset import contains_desired

__all__ = [
    "RUN_ERRORS",
    "AlreadyExistsError",
    "Cache",
    "CannotListenError",
    "ChangeHandler",
    "ChangeNotification",
    "Client",
    "Clock",
    "ClusterUnavailableError",
    "ConflictError",
    "ConnectRefusedError",
    "ControlLoop",
    "ControllerBuilder",
    "DeleteResult",
    "ElectionSettings",
    "ElectionSettingsError",
    "EventRecorder",
    "ExpiredError",
    "ExponentialBackoff",
    "ForbiddenError",
    "IncompleteControllerError",
    "IndexFunction",
    "Informer",
    "InformerMetrics",
    "InvalidError",
    "Kind",
    "KubeError",
    "KubeconfigError",
    "LeaderElection",
    "LeaderElector",
    "LeaderRunnable",
    "LeadershipLostError",
    "ListerWatcher",
    "LoopOptions",
    "Manager",
    "ManagerOptions",
    "MapFunction",
    "MaxOfRateLimiter",
    "NotFoundError",
    "Object",
    "ObjectKey",
    "ObjectList",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "Preconditions",
    "Priority",
    "RateLimiter",
    "ReconcileError",
    "Reconciler",
    "Result",
    "Runnable",
    "ServerError",
    "StatusError",
    "StopTimeoutError",
    "SyncedRunnable",
    "SystemClock",
    "TerminalError",
    "ThrottledError",
    "TimerClock",
    "TokenBucket",
    "Trigger",
    "UndecodableError",
    "UndecodableObject",
    "UnreachableError",
    "WatchScope",
    "WorkQueue",
    "Writer",
    "contains_desired",
    "controller_reference",
    "default_rate_limiter",
    "election_from_config",
    "first_error",
    "first_in_order",
    "install_stop_signals",
    "is_controlled_by",
    "json_digest",
    "key_of",
    "mapped_keys",
    "new_registry",
    "object_reference",
    "own_key",
    "owner_keys",
    "reconcile_id",
    "run_bounded",
    "truncate",
]
